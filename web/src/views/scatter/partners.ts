import { positionsOf, type Scatter } from './model'
import { neighbours } from './neighbours'
import type { Fate } from './truth'

/** The strongest weights of every token of a head, k each way, strongest first; row −1 where there are fewer. */
export interface Partners {
  k: number
  asks: Int32Array
  asksWeights: Float32Array
  asked: Int32Array
  askedWeights: Float32Array
}

export interface Partner {
  row: number
  weight: number
  /** Among the k nearest on the map. */
  near: boolean
}

/** Whom a token attends to ("asks") and who attends to it ("asked"). */
export type Way = 'asks' | 'asked'

/** A line from what is in focus to a partner, or to a neighbour and what became of it. */
export interface Strand {
  row: number
  weight: number
  way: Way | Fate
}

/** Whether a line is dashed, whether it is drawn in the colour that leads, and whether it is crossed out. */
export function strandLook(way: Way | Fate): { dashed: boolean; leads: boolean; crossed: boolean } {
  return { dashed: way === 'asked' || way === 'missing', leads: way === 'asks' || way === 'kept', crossed: way === 'false' }
}

/** The two strokes that cross a line out, at two thirds of it. */
export function crossOf({ from, to }: Arc, half = 4.5): [readonly [number, number], readonly [number, number]][] {
  const x = from[0] + (2 * (to[0] - from[0])) / 3
  const y = from[1] + (2 * (to[1] - from[1])) / 3
  return [
    [
      [x - half, y - half],
      [x + half, y + half],
    ],
    [
      [x - half, y + half],
      [x + half, y - half],
    ],
  ]
}

/** The strongest partners of a row, at most so many each way. */
export function partnersOf(scatter: Scatter, row: number, most: number): Record<Way, Partner[]> | null {
  const { partners } = scatter
  if (!partners) return null
  const { k } = partners
  const near = new Set(neighbours(scatter.at, scatter.dims, row, k).map((one) => one.row))
  const read = (rows: Int32Array, weights: Float32Array): Partner[] =>
    Array.from({ length: Math.min(k, most) }, (_, i) => row * k + i)
      .filter((at) => rows[at] >= 0)
      .map((at) => ({ row: rows[at], weight: weights[at], near: near.has(rows[at]) }))
  return { asks: read(partners.asks, partners.asksWeights), asked: read(partners.asked, partners.askedWeights) }
}

/** Partners of less weight are listed, but not worth a sentence. */
const LEAST = 0.01

/** Those partners that the map could not keep close, in a sentence; empty where it kept all. */
export function farText(scatter: Scatter, way: Way, partners: Partner[]): string {
  const far = partners.filter(({ near, weight }) => !near && weight >= LEAST)
  if (!far.length) return ''
  const positions = positionsOf(scatter)
  const names = far.map(({ row }) => `“${scatter.labels[row]}”${positions ? ` at ${positions[row]}` : ''}`)
  const listed = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0]
  return `${way === 'asks' ? 'attends to' : 'is attended to by'} ${listed}, which ${far.length > 1 ? 'lie' : 'lies'} far`
}

/** The share of a token's weight that lies on tokens which the map leaves off; 0 where that is not known. */
export function leftOff(scatter: Scatter, row: number): number {
  const shown = scatter.columns.find(({ name }) => name === 'shown')
  return shown?.type === 'number' ? Math.max(0, 1 - shown.values[row]) || 0 : 0
}

/** A strand on screen: a shallow arc, bent to one side for each way, so that both between one pair are seen. */
export interface Arc {
  way: Way | Fate
  from: readonly [number, number]
  bend: readonly [number, number]
  to: readonly [number, number]
  width: number
  alpha: number
}

export function arcs(focus: number, strands: readonly Strand[], screen: (row: number) => readonly [number, number]): Arc[] {
  const top = Math.max(...strands.map(({ weight }) => weight), 1e-12)
  const from = screen(focus)
  return strands.map(({ row, weight, way }) => {
    const to = screen(row)
    const side = way === 'asks' ? 0.1 : way === 'asked' ? -0.1 : 0
    const bend = [(from[0] + to[0]) / 2 - side * (to[1] - from[1]), (from[1] + to[1]) / 2 + side * (to[0] - from[0])] as const
    if (way !== 'asks' && way !== 'asked') return { way, from, bend, to, width: 1.4, alpha: 0.8 }
    const share = Math.sqrt(weight / top)
    return { way, from, bend, to, width: 0.8 + 2.2 * share, alpha: 0.3 + 0.6 * share }
  })
}

/** Rows in the order in which the text is read; null where the items are no tokens of a text. */
export function readingOrder(scatter: Scatter): Int32Array | null {
  const positions = positionsOf(scatter)
  if (!positions || scatter.count < 3) return null
  return Int32Array.from({ length: scatter.count }, (_, row) => row).sort((a, b) => positions[a] - positions[b])
}
