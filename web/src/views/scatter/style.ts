import { categoryMark, DISTINCT, hex, NEUTRAL, NO_VALUE_TEXT, rampColour, rgb, type Rgb, type Theme } from '../../lib/colour'
import { formatNumber } from '../../lib/format'
import { said, type Column, type Scatter } from './model'

/** How every point is drawn: colours as RGBA bytes, shapes, sizes, and which are drawn in what order. */
export interface Style {
  colours: Uint8Array
  shapes: Uint8Array
  /** Factor on the common radius. */
  sizes: Float32Array
  /** Rows that are drawn, the ones on top last. */
  order: Uint32Array
  visible: Uint8Array
  /** 1 where a point stands out, the labels of the others being quiet; null when none does. */
  emphasis?: Uint8Array | null
  /** Where all but a few points look alike, what they look like; the few that stand out lie on top of them. */
  quiet?: Quiet | null
}

/** Points that all have one colour, RGBA, and the rows that stand out and are drawn over them. */
export interface Quiet {
  rows: Uint32Array
  colour: readonly [number, number, number, number]
  lit: ArrayLike<number>
}

export interface LegendEntry {
  /** The category's code; -1 stands for "no value", OTHERS for the categories without a mark of their own. */
  code: number
  label: string
  count: number
  colour: string
  shape: number
}

export const NO_VALUE = -1
export const OTHERS = -2

const QUIET_ALPHA = 38

export interface Wish {
  column: Column | null
  theme: Theme
  /** Legend entries that are switched off. */
  hidden: ReadonlySet<number>
  /** 1 where a row is left out, whatever its colour. */
  absent?: Uint8Array | null
  /** 1 where a point is to stand out; null when none is. */
  emphasis: Uint8Array | null
  /** 0 far to 1 near, for maps seen in depth. */
  near: Float32Array | null
}

export function style(scatter: Scatter, wish: Wish): Style {
  const { count } = scatter
  const colours = new Uint8Array(count * 4)
  const shapes = new Uint8Array(count)
  const sizes = new Float32Array(count).fill(1)
  const visible = new Uint8Array(count)
  const alpha = 255 * opacity(count)
  const mark = marks(wish)
  const rows: number[] = []
  for (let i = 0; i < count; i++) {
    const { colour, shape, code } = mark(i)
    if (wish.hidden.has(code) || wish.absent?.[i]) continue
    visible[i] = 1
    colours.set(colour, 4 * i)
    colours[4 * i + 3] = alpha * depthOf(wish.near, i)
    shapes[i] = shape
    if (wish.near) sizes[i] = 0.7 + 0.5 * wish.near[i]
    rows.push(i)
  }
  if (wish.near) rows.sort((a, b) => wish.near![a] - wish.near![b])
  const plain = { colours, shapes, sizes, order: Uint32Array.from(rows), visible }
  return wish.emphasis ? quieted(plain, wish.emphasis, wish.theme, wish.near) : plain
}

/** The same with all points quiet but those that stand out, which lie on top. Of very many points it is done with every click. */
export function quieted(plain: Style, emphasis: Uint8Array, theme: Theme, near: Float32Array | null): Style {
  const colours = new Uint8Array(plain.colours.length)
  const quiet = new Uint32Array(Uint8Array.from(quietColour(theme)).buffer)[0]
  const order = new Uint32Array(plain.order.length)
  const lit: number[] = []
  let at = 0
  new Uint32Array(colours.buffer).fill(quiet)
  for (const row of plain.order) {
    if (emphasis[row]) lit.push(row)
    else order[at++] = row
    if (near && !emphasis[row]) colours[4 * row + 3] = QUIET_ALPHA * depthOf(near, row)
  }
  order.set(lit, at)
  for (const row of lit) {
    colours.set(plain.colours.subarray(4 * row, 4 * row + 3), 4 * row)
    colours[4 * row + 3] = 255 * depthOf(near, row)
  }
  return { ...plain, colours, order, emphasis, quiet: near ? null : { rows: plain.order, colour: quietColour(theme), lit } }
}

function quietColour(theme: Theme): Quiet['colour'] {
  const [red, green, blue] = rgb(NEUTRAL[theme])
  return [red, green, blue, QUIET_ALPHA]
}

/** What lies behind is drawn fainter. */
function depthOf(near: Float32Array | null, row: number): number {
  return near ? 0.45 + 0.55 * near[row] : 1
}

/** What the legend of a column says of the rows that are drawn; empty for a column of numbers, whose ramp speaks for itself. */
export function legend(column: Column | null, theme: Theme, absent: Uint8Array | null = null): LegendEntry[] {
  if (!column) return []
  if (column.type === 'number') {
    const missing = column.values.reduce((sum, value, row) => sum + (Number.isFinite(value) || absent?.[row] ? 0 : 1), 0)
    return missing ? [{ code: NO_VALUE, label: NO_VALUE_TEXT, count: missing, colour: NEUTRAL[theme], shape: 0 }] : []
  }
  const entries = column.categories.slice(0, DISTINCT).map((label, code) => {
    return { code, label, count: column.counts[code], ...categoryMark(code, theme) }
  })
  const rest = column.categories.length - DISTINCT
  if (rest > 0) {
    const count = column.counts.slice(DISTINCT).reduce((sum, n) => sum + n, 0)
    entries.push({ code: OTHERS, label: `${rest} others`, count, ...categoryMark(DISTINCT, theme) })
  }
  const missing = column.codes.reduce((sum, code, row) => sum + (code >= 0 || absent?.[row] ? 0 : 1), 0)
  if (missing) entries.push({ code: NO_VALUE, label: NO_VALUE_TEXT, count: missing, ...categoryMark(-1, theme) })
  return entries
}

export function rampEnds(column: Column | null): [string, string] | null {
  if (column?.type !== 'number' || Number.isNaN(column.low)) return null
  return [said(column, column.low, formatNumber), said(column, column.high, formatNumber)]
}

/** The colour of one row as text, for exports and lists. */
export function rowColour(style: Style, row: number): string {
  return hex([style.colours[4 * row], style.colours[4 * row + 1], style.colours[4 * row + 2]])
}

/** Whether a point stands back, since others stand out. */
export function isQuiet({ emphasis }: Style, row: number): boolean {
  return Boolean(emphasis && !emphasis[row])
}

/** Few points are drawn solid; many let what lies below shine through. */
export function opacity(count: number): number {
  return Math.min(0.92, Math.max(0.55, 1.25 - 0.14 * Math.log10(Math.max(count, 1))))
}

function marks({ column, theme }: Wish): (row: number) => { colour: Rgb; shape: number; code: number } {
  if (!column) {
    const colour = rgb(categoryMark(0, theme).colour)
    return () => ({ colour, shape: 0, code: NaN })
  }
  const neutral = { colour: rgb(NEUTRAL[theme]), shape: 0, code: NO_VALUE }
  if (column.type === 'number') {
    const span = column.high - column.low
    const ramp = Array.from({ length: 256 }, (_, i) => rampColour(i / 255, theme, column.name))
    return (row) => {
      const value = column.values[row]
      if (!Number.isFinite(value)) return neutral
      return { colour: ramp[span > 0 ? Math.round((255 * (value - column.low)) / span) : 128], shape: 0, code: NaN }
    }
  }
  const known = column.categories.slice(0, DISTINCT).map((_, code) => {
    const { colour, shape } = categoryMark(code, theme)
    return { colour: rgb(colour), shape, code }
  })
  const others = { ...neutral, code: OTHERS }
  return (row) => (column.codes[row] < 0 ? neutral : (known[column.codes[row]] ?? others))
}
