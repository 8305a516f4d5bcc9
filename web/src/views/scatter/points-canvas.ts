import { rgb, type Rgb } from '../../lib/colour'
import type { Frame, PointLayer } from './layer'
import { LOOSE } from './model'
import { isGap, REACH, shapeDistance } from './shapes'
import type { Quiet, Style } from './style'

/** Sub-pixel steps of a stamp's place, so that slow panning does not jump. */
const STEPS = 4

/** The pixels that a mark touches, from the pixel its middle lies in, and how much of each it covers (0…256). */
interface Stamp {
  reach: number
  dx: Int32Array
  dy: Int32Array
  offset: Int32Array
  cover: Int32Array
}

/** Points painted pixel by pixel into one image: faster than WebGL that runs without a graphics card. */
export class CanvasPoints implements PointLayer {
  readonly kind = 'canvas'
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d', { alpha: false })
  #image: ImageData | null = null
  #plane: Float32Array = new Float32Array()
  #style: Style | null = null
  #rings: Uint8Array | null = null
  #stamps = new Map<number, Stamp>()
  /** The image of all points in their quiet colour, and what it was painted for. */
  #quiet: { of: readonly unknown[]; data: Uint8ClampedArray } | null = null

  place(plane: Float32Array): void {
    this.#plane = plane
  }

  dress(style: Style, rings: Uint8Array | null): void {
    this.#style = style
    this.#rings = rings
  }

  draw(frame: Frame): void {
    const { width, height } = this.canvas
    if (!this.#context || !this.#style || !width || !height) return
    if (this.#image?.width !== width || this.#image.height !== height) {
      this.#image = this.#context.createImageData(width, height)
      this.#stamps.clear()
    }
    // Stamps of other zooms are of no use any more; a frame needs a few dozen.
    if (this.#stamps.size > 2000) this.#stamps.clear()
    const { quiet } = this.#style
    if (quiet && frame.most >= quiet.rows.length) {
      this.#paintQuiet(this.#image, this.#style, quiet, frame)
      this.#paint(this.#image, this.#style, quiet.lit, frame)
    } else {
      new Uint32Array(this.#image.data.buffer).fill(pixel(rgb(frame.ground)))
      this.#paint(this.#image, this.#style, this.#style.order, frame)
    }
    this.#context.putImageData(this.#image, 0, 0)
  }

  prepare(style: Style, frame: Frame): void {
    const { width, height } = this.canvas
    if (!this.#context || !style.quiet || !width || !height) return
    this.#paintQuiet(this.#context.createImageData(width, height), style, style.quiet, frame)
  }

  /** All points in their quiet colour: of very many, most of the work of a click, and the same until the map moves. */
  #paintQuiet(image: ImageData, style: Style, quiet: Quiet, frame: Frame): void {
    const { camera, density, radius, edge, ground, ink } = frame
    const look = [camera.x, camera.y, camera.scale, density, radius, edge, ground, ink, image.width, image.height, ...quiet.colour]
    const of = [...look, quiet.rows, style.shapes, style.sizes, this.#plane, this.#rings]
    if (this.#quiet?.of.length === of.length && of.every((one, i) => one === this.#quiet!.of[i])) {
      image.data.set(this.#quiet.data)
      return
    }
    new Uint32Array(image.data.buffer).fill(pixel(rgb(ground)))
    this.#paint(image, style, quiet.rows, frame, quiet.colour)
    this.#quiet = { of, data: image.data.slice() }
  }

  destroy(): void {
    this.#image = null
    this.#quiet = null
    this.#stamps.clear()
  }

  /** Paints some rows over the image, in their own colours or all in one. */
  #paint(image: ImageData, style: Style, order: ArrayLike<number>, frame: Frame, one: Quiet['colour'] | null = null): void {
    const { density, camera } = frame
    const ground = rgb(frame.ground)
    const { width, height } = image
    const { colours, sizes, shapes } = style
    const plane = this.#plane
    const rings = this.#rings
    const scale = camera.scale * density
    const offsetX = width / 2 - camera.x * scale
    const offsetY = height / 2 + camera.y * scale
    const ink = rgb(frame.ink)
    const edge = frame.edge * density
    const common = frame.radius * density
    // Stamps by shape and sub-pixel step for the usual size, so that most points need no look-up by key.
    const usual: (Stamp | undefined)[] = []
    const every = frame.most < order.length ? Math.ceil(inView(plane, order, scale, offsetX, offsetY, width, height) / frame.most) : 1
    for (let i = 0, seen = 0; i < order.length; i++) {
      const row = order[i]
      const x = plane[2 * row] * scale + offsetX
      const y = offsetY - plane[2 * row + 1] * scale
      if (!(x > -30 && y > -30 && x < width + 30 && y < height + 30)) continue
      if (every > 1 && seen++ % every) continue
      const shape = shapes[row]
      const at = 4 * row
      const alpha = one ? one[3] : colours[at + 3]
      const left = Math.floor(x)
      const top = Math.floor(y)
      const step = Math.floor((x - left) * STEPS) * STEPS + Math.floor((y - top) * STEPS)
      const radius = Math.max(common * sizes[row], 0.5)
      if (edge) press(image, this.#stamp(shape, radius + edge, 0, step, width), left, top, ground[0], ground[1], ground[2], alpha)
      const stamp =
        sizes[row] === 1
          ? (usual[shape * STEPS * STEPS + step] ??= this.#stamp(shape, radius, 0, step, width))
          : this.#stamp(shape, radius, 0, step, width)
      if (one) press(image, stamp, left, top, one[0], one[1], one[2], alpha)
      else press(image, stamp, left, top, colours[at], colours[at + 1], colours[at + 2], alpha)
      if (rings?.[row]) {
        const ring = this.#stamp(0, radius + edge + 1.6 * density, 0.65 * density, step, width, rings[row] === LOOSE)
        press(image, ring, left, top, ink[0], ink[1], ink[2], Math.max(alpha, 90))
      }
    }
  }

  /** `line` is half the width of a ring, 0 for a filled shape. */
  #stamp(shape: number, radius: number, line: number, step: number, width: number, dashed = false): Stamp {
    const size = Math.round(radius * 4)
    const key = (((size * 64 + Math.round(line * 4)) * 4 + shape) * STEPS * STEPS + step) * 2 + Number(dashed)
    let stamp = this.#stamps.get(key)
    if (!stamp) {
      stamp = cut(shape, size / 4, line, (Math.floor(step / STEPS) + 0.5) / STEPS, ((step % STEPS) + 0.5) / STEPS, width, dashed)
      this.#stamps.set(key, stamp)
    }
    return stamp
  }
}

/** How many points lie on the canvas. */
function inView(
  plane: Float32Array,
  order: ArrayLike<number>,
  scale: number,
  offsetX: number,
  offsetY: number,
  width: number,
  height: number,
): number {
  let count = 0
  for (let i = 0; i < order.length; i++) {
    const x = plane[2 * order[i]] * scale + offsetX
    const y = offsetY - plane[2 * order[i] + 1] * scale
    if (x > -30 && y > -30 && x < width + 30 && y < height + 30) count++
  }
  return count
}

/** The stamp of a shape whose middle lies (x, y) from its pixel's corner, in an image of this width; of a ring, perhaps only dashes. */
function cut(shape: number, radius: number, line: number, x: number, y: number, width: number, dashed: boolean): Stamp {
  const reach = Math.ceil(radius * (shape ? REACH : 1) + line + 1)
  const pixels: [number, number, number][] = []
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) {
      // The middle of a pixel lies half a pixel right of and below its corner.
      const away = shapeDistance(shape, dx + 0.5 - x, dy + 0.5 - y, radius)
      if (dashed && isGap(dx + 0.5 - x, dy + 0.5 - y)) continue
      const cover = Math.round(256 * Math.min(Math.max(0.5 - (line ? Math.abs(away) - line : away), 0), 1))
      if (cover) pixels.push([dx, dy, cover])
    }
  return {
    reach,
    dx: Int32Array.from(pixels, ([dx]) => dx),
    dy: Int32Array.from(pixels, ([, dy]) => dy),
    offset: Int32Array.from(pixels, ([dx, dy]) => 4 * (dy * width + dx)),
    cover: Int32Array.from(pixels, ([, , cover]) => cover),
  }
}

/** Blends a stamp over the opaque image; alpha is 0…255. */
function press(image: ImageData, stamp: Stamp, left: number, top: number, red: number, green: number, blue: number, alpha: number): void {
  const { data, width, height } = image
  const { reach, dx, dy, offset, cover } = stamp
  const inside = left >= reach && top >= reach && left + reach < width && top + reach < height
  const middle = 4 * (top * width + left)
  for (let i = 0; i < cover.length; i++) {
    if (!inside) {
      const [px, py] = [left + dx[i], top + dy[i]]
      if (px < 0 || py < 0 || px >= width || py >= height) continue
    }
    const at = middle + offset[i]
    const share = cover[i] * alpha
    data[at] += ((red - data[at]) * share) / 65280
    data[at + 1] += ((green - data[at + 1]) * share) / 65280
    data[at + 2] += ((blue - data[at + 2]) * share) / 65280
  }
}

function pixel(colour: Rgb): number {
  // Canvas bytes are R, G, B, A in memory, and every browser's processor is little-endian.
  return ((255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0
}
