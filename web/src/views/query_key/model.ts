import type { View } from '../../lib/view'
import { categoryMark, type Theme } from '../../lib/colour'
import { numberColumn, readAmong, readColumn, saidOf, type Column, type DescribedColumn, type Figure, type Scatter } from '../scatter/model'
import type { Style } from '../scatter/style'
import type { Fate, Truth } from '../scatter/truth'

/** One map of the view: a head, or a head under one constant. */
export interface Panel {
  row: number
  layer: number
  head: number
  title: string
  marked: boolean
  quality: Figure[]
  kl: number | null
  scores: Record<string, number | null>
  /** Two standard errors of each score over the queries, and what a picture that knows no query has. */
  errors?: Record<string, number | null>
  nulls?: Record<string, number | null>
  settings: Record<string, unknown>
}

/** A score that all panels can have, as the registry names it; the first is the one to read a map by. */
export interface Scored {
  name: string
  label: string
  meaning: string
}

export interface QueryKeys {
  title: string
  subtitle: string
  labels: string[]
  /** The same as the map and lists write them: tokens that stand several times bear their number. */
  names: string[]
  /** The tokenizer's own label of every token that is written otherwise. */
  raw: Record<string, string>
  /** The first so many points are queries, the others keys. */
  queries: number
  count: number
  dims: number
  scores: Scored[]
  panels: Panel[]
  layers: number[]
  wide: number
  /** Whether every panel is another head, so that they stand as layers × heads. */
  isTable: boolean
  columnNames: string[]
  colour: string
  sentence: Int32Array
  position: Int32Array
  /** Its number in the whole text, which every room knows it by; −1 of a special token between sentences. */
  number: Int32Array
  sentences: string[]
  /** Whether several sentences were read, each alone: no attention leads from one to another. */
  apart: boolean
  /** Whether the model read a text at once, or sentences. */
  isWhole: boolean
  /** Positions of the longest sentence, or text read as a whole; 0 where that is not told. */
  longest: number
  special: string
  /** Which rows are special tokens; null where there are none. */
  isSpecial: Uint8Array | null
  beside: { xy: Float32Array; rows: Int32Array; quality: Figure[] } | null
  /** The row that is chosen at first, or null. */
  focus: number | null
  notes: string[]
}

interface Described extends DescribedColumn {
  per_panel: boolean
}

interface Properties {
  title: string
  subtitle: string
  labels: string[]
  names?: string[]
  raw_tokens?: Record<string, string>
  queries: number
  columns: Described[]
  color: string
  scores: Scored[]
  panels: Omit<Panel, 'row'>[]
  steps: number
  sentences: string[]
  special: string
  read?: string
  longest?: number
  beside?: { quality: Figure[] }
  focus?: number
  notes: string[]
}

export function readQueryKeys(view: View): QueryKeys {
  const properties = view.properties as unknown as Properties
  const [, count, dims] = view.arrays['xy'].shape
  const panels = properties.panels.map((panel, row) => ({ ...panel, row }))
  const layers = [...new Set(panels.map(({ layer }) => layer))].sort((a, b) => a - b)
  const heads = new Set(panels.map(({ layer, head }) => `${layer}.${head}`))
  const numbers = (name: string) => Int32Array.from(view.arrays[properties.columns.find((column) => column.name === name)!.array].data)
  return {
    title: properties.title,
    subtitle: properties.subtitle,
    labels: properties.labels,
    names: properties.names ?? properties.labels,
    raw: properties.raw_tokens ?? {},
    queries: properties.queries,
    count,
    dims,
    panels,
    scores: properties.scores,
    layers,
    wide: Math.max(...layers.map((number) => panels.filter(({ layer }) => layer === number).length)),
    isTable: heads.size === panels.length && panels.length > 1,
    columnNames: properties.columns.map(({ name }) => name),
    colour: properties.color,
    sentence: numbers('sentence'),
    position: numbers('position'),
    number: numbers('token number'),
    sentences: properties.sentences,
    apart: properties.sentences.length > 1 && properties.read !== 'text',
    isWhole: properties.read === 'text',
    longest: properties.longest ?? 0,
    special: properties.special,
    isSpecial: specialRows(view, properties),
    beside: properties.beside
      ? {
          xy: view.arrays['beside_xy'].data as Float32Array,
          rows: view.arrays['beside_rows'].data as Int32Array,
          quality: properties.beside.quality,
        }
      : null,
    focus: properties.focus ?? null,
    notes: properties.notes,
  }
}

function specialRows(view: View, properties: Properties): Uint8Array | null {
  const described = properties.columns.find(({ name }) => name === 'special')
  if (!described) return null
  const column = readColumn(view, described)
  const rows =
    column.type === 'number'
      ? Uint8Array.from(column.values, (value) => (value ? 1 : 0))
      : Uint8Array.from(column.codes, (code) => (/^(true|yes)$/i.test(column.categories[code] ?? '') ? 1 : 0))
  return rows.some(Boolean) ? rows : null
}

/** A column as it is for one panel: norms and figures differ from head to head. */
export function columnOf(view: View, all: QueryKeys, name: string, panel: number): Column {
  const described = (view.properties as unknown as Properties).columns.find((column) => column.name === name)!
  if (!described.per_panel) return readColumn(view, described)
  const data = view.arrays[described.array].data as Float32Array
  return { ...numberColumn(name, data.subarray(panel * all.count, (panel + 1) * all.count)), ...saidOf(described) }
}

/** A panel's coordinates, points × dims. */
export function placesOf(view: View, all: QueryKeys, panel: number): Float32Array {
  const size = all.count * all.dims
  return (view.arrays['xy'].data as Float32Array).subarray(panel * size, (panel + 1) * size)
}

/** Of every query of a head its strongest keys, of every key the queries that give it most: rows of all points, −1
 * for none, and their weights. */
export interface Lines {
  each: number
  partners: Int32Array
  weights: Float32Array
  aggregate: { values: Float32Array; size: number }
}

/** Whether lines can also be weighed by the lengths of values. */
export function hasValues(view: View): boolean {
  return Object.keys(view.later).some((name) => name.startsWith('valued_partners_'))
}

export async function linesOf(view: View, panel: Panel, valued = false): Promise<Lines> {
  const before = valued ? 'valued_' : ''
  const name = `${panel.layer}_${panel.head}`
  const [partners, weights, aggregate] = await Promise.all(
    [`${before}partners`, `${before}weights`, 'aggregate'].map((what) => view.later[`${what}_${name}`]()),
  )
  const steps = (view.properties as unknown as Properties).steps
  return {
    each: partners.shape[1],
    partners: partners.data as Int32Array,
    weights: Float32Array.from(weights.data, (value) => (value / steps) ** 2),
    aggregate: { values: aggregate.data as Float32Array, size: aggregate.shape[0] },
  }
}

/** Keys of a query, and queries of a key, that are counted as kept or missing. */
const COUNTED = 5

export interface Link {
  row: number
  weight: number
  fate?: Fate
}

/** Of a query its strongest keys, of a key the queries that give it most, the strongest first: as many as count. */
export function links({ each, partners, weights }: Lines, row: number): Link[] {
  return Array.from({ length: Math.min(each, COUNTED) }, (_, i) => row * each + i)
    .filter((at) => partners[at] >= 0 && weights[at] > 0)
    .map((at) => ({ row: partners[at], weight: weights[at] }))
}

/**
 * What lines are drawn from a row: to its strongest partners, which lie near or do not, and to those that lie near without
 * being among them. No row is both: where a token sees few keys, only half of them are counted.
 */
export function fatedLinks(lines: Lines, row: number, fates: Record<Fate, { row: number }[]> | null): { near: Link[]; strangers: Link[] } {
  const all = links(lines, row)
  if (!fates) return { near: all.map((link) => ({ ...link, fate: 'kept' })), strangers: [] }
  const missing = new Set(fates.missing.map((one) => one.row))
  const kept = new Set(fates.kept.map((one) => one.row))
  return {
    near: all
      .filter((link) => kept.has(link.row) || missing.has(link.row))
      .map((link) => ({ ...link, fate: kept.has(link.row) ? 'kept' : 'missing' })),
    strangers: fates.false.map((one) => ({ row: one.row, weight: 0, fate: 'false' })),
  }
}

/** What the table of positions is of, and how much of it is shown: it ends where most sentences have ended. */
export function positionsTold({ sentence, isWhole, longest }: QueryKeys, shown: number): { title: string; told: string } {
  const several = sentence.some((one) => one !== sentence[0])
  const [one, many] = isWhole ? ['The whole text', 'All texts together'] : ['The sentence', 'All sentences together']
  const part =
    longest > shown
      ? `The first ${shown} of ${longest} positions${several ? `, as many as the longest ${isWhole ? 'text' : 'sentence'} has` : ''}. `
      : ''
  return {
    title: several ? many : one,
    told: `${part}${several ? 'Mean weight' : 'Weight'} from position (down) to position (across), special tokens included.`,
  }
}

/** The same as the true neighbours of a map: a query's are keys of its sentence, and a key's queries. */
export function truthOf(view: View, { each, partners, weights }: Lines): Truth {
  const among = readAmong(view)
  return { k: Math.min(COUNTED, each), stored: each, rows: partners, values: weights, byWeight: true, among, sketch: null }
}

/** The query whose strongest key is clearest: another word, with the largest weight. */
export function clearQuery(all: QueryKeys, { each, partners, weights }: Lines): number | null {
  const isWord = (row: number) => /^(?!##)\W*\p{L}{3,}$/u.test(all.labels[row])
  let best = { row: null as number | null, weight: 0 }
  partners.subarray(0, all.queries * each).forEach((key, i) => {
    const row = Math.floor(i / each)
    if (key < 0 || weights[i] <= best.weight || all.position[key] === all.position[row] || !isWord(row) || !isWord(key)) return
    best = { row, weight: weights[i] }
  })
  return best.row
}

/** Rows of the tokens of one sentence, on one side, in order. */
export function sentenceRows(all: QueryKeys, row: number): number[] {
  const isQuery = row < all.queries
  const [from, to] = isQuery ? [0, all.queries] : [all.queries, all.count]
  const rows: number[] = []
  for (let i = from; i < to; i++) if (all.sentence[i] === all.sentence[row]) rows.push(i)
  return rows
}

/** The two strongest keys of every query of a sentence, as lines between rows. */
export function sentenceLines(all: QueryKeys, lines: Lines, row: number): { from: number; row: number; weight: number }[] {
  const queries: number[] = []
  for (let i = 0; i < all.queries; i++) if (all.sentence[i] === all.sentence[row]) queries.push(i)
  return queries.flatMap((from) =>
    links(lines, from)
      .slice(0, 2)
      .map(({ row, weight }) => ({ from, row, weight })),
  )
}

/** Dots as large as their vectors are long, between a half and twice the usual size. */
export function sizedBy(style: Style, norms: Float32Array): Style {
  const known = Array.from(norms).filter(Number.isFinite)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const share = (norm: number) => (high > low && Number.isFinite(norm) ? (norm - low) / (high - low) : 0.5)
  return { ...style, sizes: Float32Array.from(style.sizes, (size, i) => size * (0.5 + 1.5 * share(norms[i]))) }
}

/** The look without some rows. */
export function without(style: Style, hidden: (row: number) => boolean): Style {
  const visible = style.visible.map((shown, row) => (hidden(row) ? 0 : shown))
  return { ...style, visible, order: style.order.filter((row) => visible[row]) }
}

/** The same token on the other side: the key of a query, the query of a key; −1 where there is none. */
export function partner(all: QueryKeys, row: number): number {
  const [from, to] = row < all.queries ? [all.queries, all.count] : [0, all.queries]
  for (let i = from; i < to; i++) if (all.sentence[i] === all.sentence[row] && all.position[i] === all.position[row]) return i
  return -1
}

/** A panel as the scatter's stage draws it; what is true of it is known once its lines are read. */
export function asScatter(view: View, all: QueryKeys, panel: Panel, column: Column, truth: Truth | null = null): Scatter {
  return {
    title: panel.title,
    sampled: '',
    subtitle: '',
    count: all.count,
    dims: all.dims,
    at: placesOf(view, all, panel.row),
    labels: all.labels,
    names: all.names,
    raw: all.raw,
    words: [],
    partners: null,
    truth,
    elsewhere: null,
    focus: null,
    columns: [column],
    colour: column.name,
    rings: null,
    ringMeaning: '',
    looseMeaning: '',
    labelOrder: Int32Array.from({ length: all.count }, (_, i) => i),
    quantiles: null,
    quality: [],
    kls: [],
    notes: [],
    settings: [],
    regions: [],
    periods: [],
  }
}

/** Shapes tell queries from keys here, so that after eight categories the colours come again paler. */
export function pale(channel: number, cycle: number): number {
  return Math.round(channel + (255 - channel) * Math.min(0.3 * cycle, 0.8))
}

const CIRCLE = 0
const DIAMOND = 2

/** Queries are circles and keys diamonds, whatever the colour says; sides that are not shown go. */
export function withSides(style: Style, queries: number, shown: 'both' | 'queries' | 'keys'): Style {
  const colours = style.colours.slice()
  style.shapes.forEach((cycle, i) => {
    if (cycle) for (let c = 4 * i; c < 4 * i + 3; c++) colours[c] = pale(colours[c], cycle)
  })
  const shapes = style.shapes.slice()
  const visible = style.visible.slice()
  for (let i = 0; i < shapes.length; i++) {
    const isQuery = i < queries
    shapes[i] = isQuery ? CIRCLE : DIAMOND
    if ((shown === 'queries' && !isQuery) || (shown === 'keys' && isQuery)) visible[i] = 0
  }
  // Queries and keys by turns, so that neither hides the other.
  const rank = (row: number) => (row < queries ? 2 * row : 2 * (row - queries) + 1)
  const order = Array.from(style.order).filter((row) => visible[row])
  const sorted = style.order.length === shapes.length ? order.sort((a, b) => rank(a) - rank(b)) : order
  return { ...style, colours, shapes, visible, order: Uint32Array.from(sorted) }
}

export const SIDES = (theme: Theme) => [
  { label: 'query', colour: categoryMark(0, theme).colour, shape: CIRCLE },
  { label: 'key', colour: categoryMark(1, theme).colour, shape: DIAMOND },
]

/** The panels in order: as they came (place), or the highest value of a score first; those without it last. */
export function arranged(panels: Panel[], sort: string): Panel[] {
  if (sort === 'place') return panels
  const value = (panel: Panel) => panel.scores[sort] ?? -Infinity
  return [...panels].sort((a, b) => value(b) - value(a) || a.row - b.row)
}

/** The median of what panels have of a score; null where none has it. */
export function medianOf(panels: readonly Panel[], of: (panel: Panel) => number | null | undefined): number | null {
  const values = panels.flatMap((panel) => of(panel) ?? []).sort((a, b) => a - b)
  return values.length ? (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2 : null
}
