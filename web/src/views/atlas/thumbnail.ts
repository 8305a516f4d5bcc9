import { hex } from '../../lib/colour'
import type { Style } from '../scatter/style'

/** How the items of all thumbnails are drawn: those that are shown, in what colour, and which stand out. */
export interface Dressed {
  shown: Int32Array
  colours: string[]
  /** Rows that a search found; null without a search. */
  lit: ReadonlySet<number> | null
  quiet: string
  accent: string
  /** Which rows are diamonds, where shapes tell two sides apart: what is lit keeps shape and colour then, and wears a rim. */
  isDiamond?: (row: number) => boolean
}

export function dress(style: Style, shown: Int32Array, lit: ReadonlySet<number> | null, quiet: string, accent: string): Dressed {
  const { colours } = style
  return {
    shown,
    colours: Array.from(colours, (_, i) => i)
      .filter((i) => i % 4 === 0)
      .map((i) => hex([colours[i], colours[i + 1], colours[i + 2]])),
    lit,
    quiet,
    accent,
  }
}

/** Pixels of a small map beyond which its dots grow with it and have shapes. */
const USUAL = 130

/** Pixels from the middle of a lit mark with a rim to its edge. */
const LIT = 3.5

/** Draws one map tiny: it is scaled to fit, its proportions kept. */
export function thumbnail(canvas: HTMLCanvasElement, places: Float32Array, size: number, dressed: Dressed): void {
  const density = Math.min(globalThis.devicePixelRatio || 1, 3)
  canvas.width = canvas.height = Math.round(size * density)
  const context = canvas.getContext('2d')
  if (!context) return
  context.setTransform(density, 0, 0, density, 0, 0)
  // A head's map lacks the tokens that it leaves out.
  const shown = dressed.shown.filter((row) => Number.isFinite(places[2 * row]))
  const box = around(places, shown)
  // A mark at the edge is drawn whole.
  const margin = dressed.isDiamond ? LIT + 2 : 3
  const scale = (size - 2 * margin) / Math.max(box.span, 1e-12)
  const x = (row: number) => size / 2 + (places[2 * row] - box.x) * scale
  const y = (row: number) => size / 2 - (places[2 * row + 1] - box.y) * scale
  const dot = Math.max(1.4, Math.min(3, 22 / Math.sqrt(shown.length))) * Math.max(1, size / USUAL)
  const { isDiamond } = dressed
  /** The mark of one side is round, that of the other a diamond, where a mark is large enough to show it. */
  const mark = (row: number, reach: number) => {
    context.beginPath()
    if (isDiamond?.(row)) diamond(context, x(row), y(row), reach + 1.5)
    else context.arc(x(row), y(row), reach, 0, 2 * Math.PI)
    context.fill()
  }
  for (const row of shown) {
    context.fillStyle = dressed.lit ? dressed.quiet : dressed.colours[row]
    if (isDiamond && size >= USUAL) mark(row, 0.6 * dot)
    else context.fillRect(x(row) - dot / 2, y(row) - dot / 2, dot, dot)
  }
  if (!dressed.lit) return
  for (const row of shown) {
    if (!dressed.lit.has(row)) continue
    context.fillStyle = isDiamond ? dressed.colours[row] : dressed.accent
    mark(row, isDiamond ? LIT : 3)
    if (!isDiamond) continue
    context.strokeStyle = dressed.accent
    context.stroke()
  }
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number, reach: number): void {
  context.moveTo(x, y - reach)
  context.lineTo(x + reach, y)
  context.lineTo(x, y + reach)
  context.lineTo(x - reach, y)
  context.closePath()
}

/** The middle of the shown places and the longer side of the box around them. */
export function around(places: Float32Array, shown: Int32Array): { x: number; y: number; span: number } {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity]
  for (const row of shown) {
    left = Math.min(left, places[2 * row])
    right = Math.max(right, places[2 * row])
    bottom = Math.min(bottom, places[2 * row + 1])
    top = Math.max(top, places[2 * row + 1])
  }
  if (left > right) return { x: 0, y: 0, span: 1 }
  return { x: (left + right) / 2, y: (bottom + top) / 2, span: Math.max(right - left, top - bottom) }
}
