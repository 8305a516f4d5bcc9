/** From so many dimensions on, a vector is drawn as a sorted strip. */
export const STRIP = 128

/** The relative magnitude widget: bars from the zero line, in a box of fixed size. */
export interface Drawn {
  /** The bars as an SVG path. */
  path: string
  /** Where the zero line is, in pixels from the left. */
  zero: number
  /** The dimension at each place from top to bottom. */
  order: ArrayLike<number>
  /** Height of a bar. */
  pitch: number
}

export function orderOf(values: ArrayLike<number>): Int32Array {
  const order = Int32Array.from({ length: values.length }, (_, i) => i)
  if (values.length < STRIP) return order
  // Largest on top, most negative at the bottom; equal values in their own order. One key holds both, and keys
  // are sorted without a function of ours: a page draws a dozen strips at every step.
  const bits = new Uint32Array(Float32Array.from(values, (value) => value + 0).buffer)
  const keys = Float64Array.from(bits, (bit, i) => (bit >>> 31 ? bit : ~(bit | 0x80000000) >>> 0) * 2 ** 20 + i)
  keys.sort()
  for (let place = 0; place < order.length; place++) order[place] = keys[place] % 2 ** 20
  return order
}

/** Signed square roots let small values be seen beside a huge one. */
export function bend(value: number, stretched: boolean): number {
  return stretched ? Math.sign(value) * Math.sqrt(Math.abs(value)) : value
}

/** With bounds, the box is that range whatever the values are; without, the values fill it. */
export function drawn(
  values: ArrayLike<number>,
  width: number,
  height: number,
  order: ArrayLike<number>,
  stretched = false,
  bounds: readonly [number, number] | null = null,
): Drawn {
  let low = bounds ? bend(bounds[0], stretched) : 0
  let high = bounds ? bend(bounds[1], stretched) : 0
  if (!bounds)
    for (let i = 0; i < values.length; i++) {
      const value = bend(values[i], stretched)
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
  const scale = high > low ? width / (high - low) : 0
  const zero = high > low ? -low * scale : width / 2
  return {
    path: bars(values, order, height, (value) => zero + bend(value, stretched) * scale, zero),
    zero,
    order,
    pitch: height / values.length,
  }
}

/** Contributions over a widget: from its middle, one scale for all widgets, right is positive. */
export function overlaid(shares: ArrayLike<number>, on: Drawn, width: number, height: number, most: number): string {
  const middle = width / 2
  return bars(shares, on.order, height, (value) => middle + (most > 0 ? value / most : 0) * middle, middle, 0.34)
}

function bars(
  values: ArrayLike<number>,
  order: ArrayLike<number>,
  height: number,
  x: (value: number) => number,
  zero: number,
  thin = 0,
): string {
  const pitch = height / values.length
  const parts: string[] = []
  if (pitch >= 2) {
    const gap = pitch > 4 ? pitch * (thin || 0.12) : thin && pitch > 2 ? pitch * 0.25 : 0
    for (let place = 0; place < values.length; place++) {
      const value = values[order[place]]
      if (value)
        parts.push(
          `M${zero.toFixed(1)} ${(place * pitch + gap).toFixed(1)}H${x(value).toFixed(1)}v${(pitch - 2 * gap).toFixed(1)}H${zero.toFixed(1)}z`,
        )
    }
  } else {
    // Several dimensions share a line of pixels: the largest of each sign is seen, so that none is lost.
    // Lines overlap a little, or there are seams between them where the page is drawn smaller.
    const lines = Math.floor(height)
    for (let line = 0; line < lines; line++) {
      let low = 0
      let high = 0
      const end = Math.min(Math.ceil(((line + 1) * values.length) / lines), values.length)
      for (let place = Math.floor((line * values.length) / lines); place < end; place++) {
        const value = values[order[place]]
        if (value < low) low = value
        if (value > high) high = value
      }
      if (low || high) parts.push(`M${x(low).toFixed(1)} ${line}H${x(high).toFixed(1)}v1.2H${x(low).toFixed(1)}z`)
    }
  }
  return parts.join('')
}

/** The dimension at a height of the box. */
export function dimensionAt(on: Drawn, y: number, height: number): number {
  const count = on.order.length
  return on.order[Math.min(Math.max(Math.floor((y / height) * count), 0), count - 1)]
}

/** The k values of largest size, where a strip has no room to name all. */
export function strongest(values: ArrayLike<number>, k: number): number[] {
  const found: number[] = []
  for (let i = 0; i < values.length; i++) {
    if (found.length === k && Math.abs(values[i]) <= Math.abs(values[found[k - 1]])) continue
    let at = found.findIndex((other) => Math.abs(values[i]) > Math.abs(values[other]))
    if (at < 0) at = found.length
    found.splice(at, 0, i)
    if (found.length > k) found.pop()
  }
  return found
}

/** The smallest value, the mean and the largest. */
export function summary(values: ArrayLike<number>): [number, number, number] {
  let [low, high, sum] = [Infinity, -Infinity, 0]
  for (let i = 0; i < values.length; i++) {
    low = Math.min(low, values[i])
    high = Math.max(high, values[i])
    sum += values[i]
  }
  return [low, sum / values.length, high]
}

/** The value, or the end of the range that it lies beyond. */
export function between(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

/** A name on one line, or on two of about the same length where it has more letters than fit; `before` letters stand in front of it. */
export function lined(name: string, most: number, before = 0): string[] {
  if (before + name.length <= most) return [name]
  if (!name.includes(' ')) return before ? ['', name] : [name]
  const off = (space: number) => Math.abs(before + 2 * space - name.length)
  const spaces = Array.from(name.matchAll(/ /g), ({ index }) => index)
  const at = spaces.reduce((best, space) => (off(space) < off(best) ? space : best))
  return [name.slice(0, at), name.slice(at + 1)]
}
