import { formatCount, formatShare } from '../../lib/format'
import type { Numbers, View } from '../../lib/view'
import type { Word } from '../../lib/words'
import type { Partners } from './partners'
import type { Among, Sketch, Truth } from './truth'

/** What a scatter view holds, checked once at the border. Rows are items; `at` is row-major, n × dims. */
export interface Scatter {
  title: string
  subtitle: string
  /** How much of what there is was taken, where that was less than all; else empty. */
  sampled: string
  count: number
  dims: number
  at: Float32Array
  /** By what rooms know an item; several may have one. */
  labels: string[]
  /** What each row is called where it is listed: its label, and what tells it from others of the same label. */
  names: string[]
  /** The tokenizer's own label of every token that is written otherwise. */
  raw: Record<string, string>
  /** Words that the tokenizer cut, by the rows of their pieces. */
  words: Word[]
  /** Whom each token of a head attends to, and by whom it is attended to; null for other maps. */
  partners: Partners | null
  /** The nearest of every item in the data; null where the map does not carry them. */
  truth: Truth | null
  /** Where each row lies on another map that this one is compared with, and what that is called; null for other maps. */
  elsewhere: { at: Float32Array; name: string } | null
  /** The row that is chosen at first, or null. */
  focus: number | null
  columns: Column[]
  /** The column coloured by at first, or null. */
  colour: string | null
  /** 1 where the point wears a ring, 2 where a dashed one, its place saying little; and what either means. */
  rings: Uint8Array | null
  ringMeaning: string
  looseMeaning: string
  /** Rows by how much their label is wanted, the most wanted first. */
  labelOrder: Int32Array
  /** k of rescaled axes at first; null for true distances. */
  quantiles: number | null
  quality: Figure[]
  /** KL of every restart, in the order they ran; empty where there was one. */
  kls: number[]
  notes: string[]
  settings: [string, string][]
  /** Dense regions with a name, the largest first; empty where none were looked for. */
  regions: Region[]
  /** Periods of a column in their order; empty where none was asked for. */
  periods: Period[]
}

/** A region named by the words that set it apart; inside and outside are shares of texts with one of them. */
export interface Region {
  name: string
  x: number
  y: number
  size: number
  inside: number
  outside: number
}

/** Where a period lies and how widely (xx, xy, yy); p is that of the step from the one before, null of the first. */
export interface Period {
  name: string
  x: number
  y: number
  size: number
  shape: [number, number, number]
  p: number | null
}

/** What Python's registry of scores says of a column that is one: its label, its sentence, how it is shown, its name there. */
export interface Said {
  label?: string
  meaning?: string
  format?: string
  score?: string
}

export type Column = CategoryColumn | NumberColumn

/** `codes` points into `categories`, -1 where there is no value; categories stand in the order of their marks. */
export interface CategoryColumn extends Said {
  type: 'category'
  name: string
  codes: Int32Array
  categories: string[]
  counts: number[]
}

export interface NumberColumn extends Said {
  type: 'number'
  name: string
  values: Float32Array
  low: number
  high: number
}

/** A score of the map: what it is called, how it is shown, and a plain sentence on what it means. */
export interface Figure {
  name: string
  label: string
  /** The value alone, for where there is little room. */
  brief: string
  shown: string
  meaning: string
}

/** A column as Python describes it. */
export interface DescribedColumn extends Said {
  name: string
  type: 'category' | 'number'
  array: string
  categories?: string[]
}

interface Properties {
  title?: string
  subtitle?: string
  sampled?: string
  labels: string[]
  names?: string[]
  raw_tokens?: Record<string, string>
  words?: Word[]
  columns?: DescribedColumn[]
  color?: string | null
  ring_meaning?: string
  loose_meaning?: string
  quantiles?: number | null
  quality?: Figure[]
  /** How many neighbours the scores count. */
  k?: number
  sketch_error?: number
  focus?: number
  elsewhere?: string
  kls?: (number | null)[]
  notes?: string[]
  settings?: Record<string, unknown>
  regions?: Region[]
  periods?: Period[]
}

export function readScatter(view: View): Scatter {
  const properties = view.properties as unknown as Properties
  const xy = view.arrays['xy']
  const [count, dims] = xy.shape
  const columns = (properties.columns ?? []).map((column) => readColumn(view, column))
  return {
    title: properties.title ?? 'Map',
    subtitle: properties.subtitle ?? '',
    sampled: properties.sampled ?? '',
    count,
    dims,
    at: xy.data as Float32Array,
    labels: properties.labels,
    names: properties.names ?? properties.labels,
    raw: properties.raw_tokens ?? {},
    words: properties.words ?? [],
    partners: readPartners(view),
    truth: readTruth(view, properties.k ?? 0),
    elsewhere: view.arrays['elsewhere']
      ? { at: view.arrays['elsewhere'].data as Float32Array, name: properties.elsewhere ?? 'the other map' }
      : null,
    focus: properties.focus ?? null,
    columns,
    colour: columns.some((column) => column.name === properties.color) ? properties.color! : null,
    rings: (view.arrays['rings']?.data as Uint8Array | undefined) ?? null,
    ringMeaning: properties.ring_meaning ?? 'marked',
    looseMeaning: properties.loose_meaning ?? '',
    labelOrder: (view.arrays['label_order']?.data as Int32Array | undefined) ?? Int32Array.from({ length: count }, (_, row) => row),
    quantiles: properties.quantiles ?? null,
    quality: properties.quality ?? [],
    kls: (properties.kls ?? []).filter((kl): kl is number => typeof kl === 'number' && Number.isFinite(kl)),
    notes: properties.notes ?? [],
    settings: Object.entries(properties.settings ?? {}).map(([name, value]) => [name, settingText(value)]),
    regions: (properties.regions ?? []).filter(({ name }) => name !== ''),
    periods: properties.periods ?? [],
  }
}

function readPartners({ arrays }: View): Partners | null {
  if (!arrays['asks']) return null
  return {
    k: arrays['asks'].shape[1],
    asks: arrays['asks'].data as Int32Array,
    asksWeights: arrays['asks_weights'].data as Float32Array,
    asked: arrays['asked'].data as Int32Array,
    askedWeights: arrays['asked_weights'].data as Float32Array,
  }
}

function readTruth(view: View, k: number): Truth | null {
  const { arrays } = view
  const rows = arrays['true_rows']
  if (!rows) return null
  const stored = rows.shape[1]
  return {
    k: Math.min(k || stored, stored),
    stored,
    rows: rows.data as Int32Array,
    values: (arrays['true_weights'] ?? arrays['true_distances']).data as Float32Array,
    byWeight: 'true_weights' in arrays,
    among: readAmong(view),
    sketch: readSketch(view),
  }
}

/** The vectors in a byte a number; null where the map does not carry them. */
function readSketch({ arrays, properties }: View): Sketch | null {
  if (!arrays['sketch']) return null
  return {
    bytes: arrays['sketch'].data as Uint8Array,
    dims: arrays['sketch'].shape[1],
    scales: arrays['sketch_scales'].data as Float32Array,
    rest: arrays['sketch_rest'].data as Float32Array,
    error: (properties as unknown as Properties).sketch_error ?? NaN,
  }
}

/** Among whom neighbours are looked for; null for all. */
export function readAmong({ arrays }: View): Among | null {
  if (!arrays['true_own']) return null
  return {
    own: arrays['true_own'].data as Int32Array,
    sought: arrays['true_sought'].data as Int32Array,
    place: (arrays['true_place']?.data as Int32Array | undefined) ?? null,
  }
}

export function readColumn(view: View, described: DescribedColumn): Column {
  const { name, type, array, categories } = described
  const { data } = view.arrays[array]
  return type === 'category'
    ? { ...categoryColumn(name, data, categories ?? []), ...saidOf(described) }
    : { ...numberColumn(name, data as Float32Array), ...saidOf(described) }
}

/** A score by its label, which may be an abbreviation; any other column by its name. */
export function calledOf({ name, label }: Pick<Column, 'name' | 'label'>): string {
  return label?.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()) ?? name
}

/** What a column says of itself where it is a score. */
export function saidOf({ label, meaning, format, score }: Said): Said {
  return { label, meaning, format, score }
}

/** A ring of dashes: of a point whose place says little. */
export const LOOSE = 2

/** The rings that are there, with what each means: those of the legend. */
export function ringKinds({ rings, ringMeaning, looseMeaning }: Scatter): { label: string; dashed: boolean }[] {
  if (!rings) return []
  const dashed = rings.includes(LOOSE)
  return [
    ...(rings.includes(1) || !dashed ? [{ label: ringMeaning, dashed: false }] : []),
    ...(dashed ? [{ label: looseMeaning, dashed: true }] : []),
  ]
}

/** Up to this many points there is room for long names. */
const NAMED = 100
/** Letters that a name may have beyond its label anywhere: the number of a token. */
const SHORT = 3

/** What is written beside points: names where there is room for them, elsewhere those that are hardly longer than labels. */
export function writtenNames({ labels, names, count }: Pick<Scatter, 'labels' | 'names' | 'count'>): string[] {
  if (count <= NAMED) return names
  return names.map((name, row) => (name.length <= labels[row].length + SHORT ? name : labels[row]))
}

/** Where each row stands in a text, if the items are tokens; else null. */
export function positionsOf(scatter: Scatter): Float32Array | null {
  const column = scatter.columns.find(({ name }) => name === 'position')
  return column?.type === 'number' ? column.values : null
}

/** How many there are of what: tokens of a text, occurrences of words, which have names of their own, or items. */
export function countedIn(scatter: Scatter): string {
  const { count, labels, names } = scatter
  const many = (number: number, word: string) => `${formatCount(number)} ${word}${number === 1 ? '' : 's'}`
  if (positionsOf(scatter)) return many(count, 'token')
  return names === labels ? many(count, 'item') : `${many(count, 'occurrence')} of ${many(new Set(labels).size, 'word')}`
}

/** Whether a column lies within the years 1000 to 2999 at both ends, whole numbers: these are read without a comma. */
function isYears({ low, high }: NumberColumn): boolean {
  return low >= 1000 && high < 3000 && Number.isInteger(low) && Number.isInteger(high)
}

/** A number of this column as it is said. */
export function said(column: NumberColumn, value: number, format: (value: number) => string): string {
  if (Number.isInteger(value) && isYears(column)) return String(value)
  return column.format === 'percent' ? formatShare(value) : format(value)
}

/** The value of a column at a row as text for people; empty where there is none. */
export function cellText(column: Column, row: number, format: (value: number) => string): string {
  if (column.type === 'category') return column.categories[column.codes[row]] ?? ''
  const value = column.values[row]
  return Number.isNaN(value) ? '' : said(column, value, format)
}

export function categoryColumn(name: string, data: Numbers, categories: string[]): CategoryColumn {
  const codes = data as Int32Array
  return { type: 'category', name, codes, categories, counts: countsOf(codes, categories.length) }
}

function countsOf(codes: Int32Array, categories: number): number[] {
  const counts = new Array<number>(categories).fill(0)
  for (const code of codes) if (code >= 0) counts[code]++
  return counts
}

/** The column as the rows that are drawn tell it: its range, and how many have each category. */
export function columnOf(column: Column, absent: Uint8Array): Column {
  if (column.type === 'number') return { ...column, ...rangeOf(column.values.filter((_, row) => !absent[row])) }
  return {
    ...column,
    counts: countsOf(
      column.codes.filter((_, row) => !absent[row]),
      column.categories.length,
    ),
  }
}

/** Scores of two maps together, which say nothing for or against one of them. */
const OF_TWO = new Set(['shared', 'moved'])

/** The scores that stand above a map: the first three, and of the others the one that says least for it, where it does not call it good. */
export function headline(figures: Figure[]): Figure[] {
  const [first, rest] = [figures.slice(0, 3), figures.slice(3).filter(({ name }) => !OF_TWO.has(name))]
  const worst = ['(not to be read)', '(partly)'].flatMap((verdict) => rest.filter(({ brief }) => brief.endsWith(verdict)))
  return [...first, ...worst.slice(0, 1)]
}

export function numberColumn(name: string, values: Float32Array): NumberColumn {
  return { type: 'number', name, values, ...rangeOf(values) }
}

/** The lowest and the highest of the numbers that are known, NaN where none is. */
function rangeOf(values: Float32Array): { low: number; high: number } {
  let low = Infinity
  let high = -Infinity
  for (const value of values) {
    if (!Number.isFinite(value)) continue
    if (value < low) low = value
    if (value > high) high = value
  }
  return low > high ? { low: NaN, high: NaN } : { low, high }
}

function settingText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
