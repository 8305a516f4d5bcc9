import { positionsOf, type Scatter } from './model'
import { neighbours } from './neighbours'
import type { Fate, Neighbour } from './truth'

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

/** A line from what is in focus to a neighbour, what became of it, and on maps of heads who attends to whom. */
export interface Strand {
  row: number
  weight: number
  fate: Fate
  way?: Way
}

/** Whether a line is dashed, whether it is drawn in the colour that leads, and whether it is crossed out. */
export function strandLook({ fate, way }: Pick<Strand, 'fate' | 'way'>): { dashed: boolean; leads: boolean; crossed: boolean } {
  return { dashed: fate === 'missing', leads: way ? way === 'asks' : fate === 'kept', crossed: fate === 'false' }
}

/** What the lines from a chosen point mean: only the kinds that are drawn, each with how it looks. */
export function strandKey(
  strands: readonly Pick<Strand, 'fate' | 'way'>[],
  byWeight: boolean,
): { look: Way | Fate; words: string; drawn: Pick<Strand, 'fate' | 'way'> }[] {
  const kinds: [Way | Fate, string, Pick<Strand, 'fate' | 'way'>, boolean][] = [
    ['asks', 'attends to', { fate: 'kept', way: 'asks' }, strands.some(({ way }) => way === 'asks')],
    ['asked', 'is attended to by', { fate: 'kept', way: 'asked' }, strands.some(({ way }) => way === 'asked')],
    [
      'kept',
      byWeight ? 'strong in the weights, near here' : 'near in the data and here',
      { fate: 'kept' },
      strands.some(({ fate, way }) => fate === 'kept' && !way),
    ],
    [
      'missing',
      byWeight ? 'strong in the weights, far here' : 'near in the data, far here',
      { fate: 'missing' },
      strands.some(({ fate }) => fate === 'missing'),
    ],
    [
      'false',
      byWeight ? 'near here, not strong in the weights' : 'near here, not in the data',
      { fate: 'false' },
      strands.some(({ fate }) => fate === 'false'),
    ],
  ]
  return kinds.flatMap(([look, words, drawn, is]) => (is ? [{ look, words, drawn }] : []))
}

/** The lines of what is in focus: to every true neighbour, each way that it is a partner, and to false ones. Where
 * the map does not carry true neighbours, to its partners. */
export function strandsOf(fates: Record<Fate, Neighbour[]> | null, partners: Record<Way, Partner[]> | null): Strand[] | undefined {
  const ways = ['asked', 'asks'] as const
  if (fates)
    return (['false', 'missing', 'kept'] as const).flatMap((fate) =>
      fates[fate].flatMap(({ row }): Strand[] => {
        const both = ways.flatMap((way) => {
          const partner = fate === 'false' ? undefined : partners?.[way].find((one) => one.row === row)
          return partner ? [{ row, weight: partner.weight, fate, way }] : []
        })
        return both.length ? both : [{ row, weight: 1, fate }]
      }),
    )
  return partners
    ? ways.flatMap((way) => partners[way].map(({ row, weight, near }): Strand => ({ row, weight, fate: near ? 'kept' : 'missing', way })))
    : undefined
}

/** One line of every kind that may lead from a row of a map. */
export function possibleStrands({ partners, truth }: Pick<Scatter, 'partners' | 'truth'>): Pick<Strand, 'fate' | 'way'>[] {
  const ways = (['asks', 'asked'] as const).map((way) => ({ fate: 'kept' as const, way }))
  const fates: Fate[] = truth ? ['kept', 'missing', 'false'] : ['missing']
  return [...(partners ? ways : []), ...(truth || partners ? fates.map((fate) => ({ fate })) : [])]
}

/** The two strokes that cross a line out, at two thirds of it. */
export function crossOf({ from, to }: Pick<Arc, 'from' | 'to'>, half = 4.5): [readonly [number, number], readonly [number, number]][] {
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

/** The strongest partners of a row, each way. */
export function partnersOf(scatter: Scatter, row: number): Record<Way, Partner[]> | null {
  const { partners } = scatter
  if (!partners) return null
  const { k } = partners
  const near = new Set(neighbours(scatter.at, scatter.dims, row, k).map((one) => one.row))
  const read = (rows: Int32Array, weights: Float32Array): Partner[] =>
    Array.from({ length: k }, (_, i) => row * k + i)
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
  const names = far.map(({ row }) => `“${scatter.names[row]}”${positions ? ` at ${positions[row]}` : ''}`)
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
  fate: Fate
  way?: Way
  from: readonly [number, number]
  bend: readonly [number, number]
  to: readonly [number, number]
  width: number
  alpha: number
}

export function arcs(focus: number, strands: readonly Strand[], screen: (row: number) => readonly [number, number]): Arc[] {
  const top = Math.max(...strands.filter(({ way }) => way).map(({ weight }) => weight), 1e-12)
  const from = screen(focus)
  return strands.map(({ row, weight, fate, way }) => {
    const to = screen(row)
    const side = way === 'asks' ? 0.1 : way === 'asked' ? -0.1 : 0
    const bend = [(from[0] + to[0]) / 2 - side * (to[1] - from[1]), (from[1] + to[1]) / 2 + side * (to[0] - from[0])] as const
    if (!way) return { fate, from, bend, to, width: 1.4, alpha: 0.8 }
    const share = Math.sqrt(weight / top)
    return { fate, way, from, bend, to, width: 0.8 + 2.2 * share, alpha: 0.3 + 0.6 * share }
  })
}

/** Rows in the order in which the text is read; null where the items are no tokens of a text. */
export function readingOrder(scatter: Scatter): Int32Array | null {
  const positions = positionsOf(scatter)
  if (!positions || scatter.count < 3) return null
  return Int32Array.from({ length: scatter.count }, (_, row) => row).sort((a, b) => positions[a] - positions[b])
}
