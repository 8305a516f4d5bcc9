import { belowColour, HEAT, heatColour, SIDES, type Rgb, type Theme } from './colour'

/** The steps of a table of colours. */
const STEPS = 255

/**
 * Colours by share of the largest weight as pixels: in the middle none, then 255 steps up, and before it as many down for what is
 * below 0. They grow with the square root, so that weak weights are seen.
 */
export function heatTable(theme: Theme, signed = false): Uint32Array {
  return Uint32Array.from({ length: 2 * STEPS + 1 }, (_, i) => {
    const [red, green, blue] = stepColour(i - STEPS, theme, signed)
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0
  })
}

/** The colour of a step as `level` gives it; where values are signed, both sides end before they look alike. */
export function stepColour(step: number, theme: Theme, signed = false): Rgb {
  const share = (Math.abs(step) / STEPS) * (signed ? (SIDES - 1) / (HEAT[theme].length - 1) : 1)
  return step < 0 ? belowColour(share, theme) : heatColour(share, theme)
}

/** Which part of a matrix is on screen, in rows and columns; ends may lie inside a cell. */
export interface Window {
  top: number
  bottom: number
  left: number
  right: number
}

/** A matrix whose rows and columns are chosen and ordered by `rows` and `columns`; `wide` is the length of a stored row. */
export interface Cells {
  values: Float32Array
  wide: number
  rows: ArrayLike<number>
  columns: ArrayLike<number>
}

/** Fills an image with the window; where several cells share a pixel the largest is seen, above 0 or below, so that none is lost. */
export function paintHeat(
  pixels: Uint32Array,
  width: number,
  height: number,
  cells: Cells,
  window: Window,
  top: number,
  table: Uint32Array,
): void {
  const { values, wide, rows, columns } = cells
  const [lefts, rights] = edges(width, window.left, window.right, columns.length)
  const [tops, bottoms] = edges(height, window.top, window.bottom, rows.length)
  for (let y = 0; y < height; y++) {
    if (y && tops[y] === tops[y - 1] && bottoms[y] === bottoms[y - 1]) {
      pixels.copyWithin(y * width, (y - 1) * width, y * width)
      continue
    }
    for (let x = 0; x < width; x++) {
      let most = 0
      for (let r = tops[y]; r < bottoms[y]; r++) {
        const row = rows[r] * wide
        for (let c = lefts[x]; c < rights[x]; c++) {
          const value = values[row + columns[c]]
          if (Math.abs(value) > Math.abs(most)) most = value
        }
      }
      pixels[y * width + x] = table[STEPS + level(most, top)]
    }
  }
}

/** How many steps from none a weight stands: up, or down where it is below 0. */
export function level(weight: number, top: number): number {
  return top > 0 ? Math.sign(weight) * Math.min(STEPS, Math.round(STEPS * Math.sqrt(Math.abs(weight) / top))) : 0
}

/** The cells from `from` to `to` that each of `count` pixels covers: at least one. */
function edges(count: number, from: number, to: number, most: number): [Int32Array, Int32Array] {
  const starts = new Int32Array(count)
  const ends = new Int32Array(count)
  const step = (to - from) / count
  for (let i = 0; i < count; i++) {
    starts[i] = Math.min(Math.max(Math.floor(from + i * step + 1e-9), 0), most - 1)
    ends[i] = step > 1 ? Math.min(Math.max(Math.floor(from + (i + 1) * step + 1e-9), starts[i] + 1), most) : starts[i] + 1
  }
  return [starts, ends]
}
