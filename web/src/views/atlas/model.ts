import { VERDICTS } from '../../lib/colour'
import { formatNumber } from '../../lib/format'
import type { View } from '../../lib/view'
import type { Word } from '../../lib/words'
import type { Head } from '../attention/head'
import { readMapOfHeads, type MapOfHeads } from './headMap'
import { cellText, numberColumn, readColumn, type Column, type DescribedColumn, type Scatter } from '../scatter/model'
import type { Truth } from '../scatter/truth'

/** What heads attend to, by which the first head is chosen. */
export const RANKING = 'interest'

/** What heads do, the best known first: taken away, or their share of the stream. Heads are ordered by it at first. */
export const MATTERS = ['matters', 'share'] as const

/** The score that says what heads of this atlas do; null where nothing is known of it. */
export function mattersBy(scores: readonly Score[]): Score | null {
  for (const name of MATTERS) {
    const found = scores.find((one) => one.name === name && one.column.type === 'number')
    if (found) return found
  }
  return null
}

/** Partners of a token that its score counts at most. */
const PARTNERS = 10

/** The share of weight near from which a map is good (analyses/_head_trust.py). */
const NEARLY_ALL = 0.9

/** The verdict on maps on which near says nothing. */
export const UNREAD = 'not to be read'

/** The verdict on heads that have nothing to map. */
export const EVEN = 'evenly spread'

/** What is said of a head that has no role and is like none. */
export const NO_PATTERN = 'no known pattern'

/** The verdict on heads that leave too few tokens for a map. */
const NO_MAP = 'no map'

/** A head by its place in the model, both from 0, and its row in every array of the atlas. */
export interface HeadName {
  row: number
  layer: number
  head: number
  /** "3.5" for layer 3, head 5. */
  name: string
  tags: string[]
  /** Of a head without a role, the one it comes nearest to; empty where it is like none. */
  like: string
  /** How far its map can be read; empty where nothing is known of it. */
  verdict: string
}

export interface Score {
  name: string
  label: string
  meaning: string
  column: Column
}

export interface Atlas {
  title: string
  subtitle: string
  tokens: string[]
  /** The same as maps and lists write them: those that stand several times bear their number. */
  names: string[]
  /** The tokenizer's own label of every token that is written otherwise. */
  raw: Record<string, string>
  /** Words that the tokenizer cut. */
  words: Word[]
  heads: HeadName[]
  layers: number[]
  /** Heads per layer at most, for a grid of layers × heads. */
  wide: number
  scores: Score[]
  /** Every tag with the number of heads that have it, the most frequent first. */
  tags: [string, number][]
  /** Every verdict with the number of maps that have it, the best first. */
  verdicts: [string, number][]
  /** heads × items × 2, and which token each item is. */
  xy: Float32Array
  items: number
  positions: Int32Array
  special: Uint8Array
  /** What tokens can be coloured by; position first. */
  tokenColumns: Column[]
  headMap: MapOfHeads | null
  steps: number
  hasAttention: boolean
  notes: string[]
  settings: [string, string][]
  /** What tells each role: a score, and the rule in a sentence. */
  roles: Record<string, { score: string; rule: string }>
}

interface Properties {
  title: string
  subtitle: string
  tokens: string[]
  names?: string[]
  raw_tokens?: Record<string, string>
  words?: Word[]
  heads: [number, number][]
  columns: (DescribedColumn & { label: string; meaning: string })[]
  tags: string | null
  roles?: Atlas['roles']
  token_columns: DescribedColumn[]
  steps: number
  later: string[]
  notes: string[]
  settings: Record<string, unknown>
}

export function readAtlas(view: View): Atlas {
  const properties = view.properties as unknown as Properties
  const scores = properties.columns.map((column) => ({
    name: column.name,
    label: column.label,
    meaning: column.meaning,
    column: readColumn(view, column),
  }))
  const judged = scores.find(({ name, column }) => name === 'verdict' && column.type === 'category')?.column
  const tagged = scores.find(({ name }) => name === properties.tags)?.column
  const nearest = scores.find(({ name }) => name === 'most_like')?.column
  const heads = properties.heads.map(([layer, head], row) => ({
    row,
    layer,
    head,
    name: `${layer}.${head}`,
    tags: tagsOf(tagged, row),
    like: nearest ? cellText(nearest, row, formatNumber) : '',
    verdict: judged ? cellText(judged, row, formatNumber) : '',
  }))
  const counts = counted(heads.flatMap(({ tags }) => tags))
  const verdicts = counted(heads.flatMap(({ verdict }) => verdict || []))
  const layers = [...new Set(heads.map(({ layer }) => layer))].sort((a, b) => a - b)
  const positions = view.arrays['positions'].data as Int32Array
  return {
    title: properties.title,
    subtitle: properties.subtitle,
    tokens: properties.tokens,
    names: properties.names ?? properties.tokens,
    raw: properties.raw_tokens ?? {},
    words: properties.words ?? [],
    heads,
    layers,
    wide: Math.max(...layers.map((number) => heads.filter(({ layer }) => layer === number).length)),
    scores,
    tags: [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])),
    verdicts: [...verdicts].sort((a, b) => verdictRank(a[0]) - verdictRank(b[0])),
    xy: view.arrays['xy'].data as Float32Array,
    items: positions.length,
    positions,
    special: view.arrays['special'].data as Uint8Array,
    tokenColumns: [
      numberColumn('position', Float32Array.from(positions)),
      ...properties.token_columns.map((column) => readColumn(view, column)).filter(({ name }) => name !== 'position'),
    ],
    headMap: readMapOfHeads(view),
    steps: properties.steps,
    roles: properties.roles ?? {},
    hasAttention: properties.later.length > 0,
    notes: properties.notes,
    settings: Object.entries(properties.settings).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  }
}

function counted(names: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Place of a verdict, 0 for the best; those that are not known come last. */
export function verdictRank(verdict: string): number {
  const at = Object.keys(VERDICTS.light).indexOf(verdict)
  return at < 0 ? Infinity : at
}

/** What a head is, in a line: where it stands, what it does, how far its map can be read, what it leaves on sinks. */
export function described(atlas: Atlas, head: HeadName): string {
  const parked = atlas.scores.find(({ name }) => name === 'parked')?.column
  const share = parked?.type === 'number' ? Math.round(100 * parked.values[head.row]) : NaN
  const parts = [
    `Layer ${head.layer}, head ${head.head}`,
    ...head.tags,
    head.like ? `most like ${head.like}` : !head.tags.length && atlas.tags.length ? NO_PATTERN : '',
    head.verdict === EVEN ? 'evenly spread: nothing to map' : head.verdict && `map ${head.verdict}`,
    share >= 1 ? `${share} % on sinks` : '',
  ]
  return parts.filter(Boolean).join(', ')
}

/** Why a head's map has its verdict: what it keeps, and what maps of its shuffled weights keep. */
export function verdictReason(atlas: Atlas, { row, verdict }: HeadName): string {
  if (verdict === EVEN) return 'The head spreads its weight evenly: no token is nearer to one than to another, and there is nothing to map.'
  const [kept, byChance, near, anywhere] = ['kept', 'kept_null', 'weight_near', 'weight_near_null'].map((wanted) => {
    const column = atlas.scores.find(({ name }) => name === wanted)?.column
    return column?.type === 'number' ? column.values[row] : NaN
  })
  if (!verdict || !Number.isFinite(kept) || !Number.isFinite(byChance)) return ''
  const share = (value: number) => `${Math.round(100 * value)} %`
  if (verdict === 'good' && near >= NEARLY_ALL)
    return `A token’s nearest on the map hold ${share(near)} of its weight; in a random layout, ${share(anywhere)}.`
  const end = verdict === UNREAD ? ' Near says nothing on this map; the matrix has the weights as they are.' : ''
  return `The map puts ${share(kept)} of each token’s strongest partners among its nearest; a map of the same weights shuffled, ${share(byChance)}.${end}`
}

function tagsOf(column: Column | undefined, row: number): string[] {
  if (column?.type !== 'category') return []
  const text = column.categories[column.codes[row]] ?? ''
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)
}

/** The head's coordinates, items × 2. */
export function placesOf(atlas: Atlas, row: number): Float32Array {
  return atlas.xy.subarray(row * atlas.items * 2, (row + 1) * atlas.items * 2)
}

/** The attention of a head, unpacked when it is first shown: v steps mean a weight of (v/steps)². */
export async function attentionOf(view: View, atlas: Atlas, { layer, head }: HeadName): Promise<Head | null> {
  const unpack = view.later[`attention_${layer}_${head}`]
  if (!unpack) return null
  const { data } = await unpack()
  const table = Float32Array.from({ length: 256 }, (_, v) => (v / atlas.steps) ** 2)
  return {
    weights: Float32Array.from(data, (v) => table[v]),
    queries: atlas.tokens,
    keys: atlas.tokens,
    specialQueries: atlas.special,
    specialKeys: atlas.special,
    raw: atlas.raw,
  }
}

export interface Wish {
  /** Score to sort by, or null for the model's own order. */
  sort: string | null
  descending: boolean
  tag: string | null
  /** Only maps of this verdict. */
  verdict: string | null
  /** Only maps that keep at least this share; 0 for all. */
  kept: number
  text: string
  /** Column of categories, "layer", or null for no groups. */
  group: string | null
}

export interface Group {
  name: string
  heads: HeadName[]
}

/** The heads that pass the filter, in order, in groups; heads without the score come last. */
export function arranged(atlas: Atlas, wish: Wish): Group[] {
  const text = wish.text.trim().toLowerCase()
  const kept = atlas.scores.find(({ name }) => name === 'kept')?.column
  const passing = atlas.heads.filter(
    ({ row, name, tags, verdict }) =>
      (!wish.verdict || verdict === wish.verdict) &&
      (!wish.kept || kept?.type !== 'number' || kept.values[row] >= wish.kept) &&
      (!wish.tag || tags.includes(wish.tag)) &&
      (!text || name.startsWith(text) || tags.some((tag) => tag.toLowerCase().includes(text))),
  )
  const column = atlas.scores.find(({ name }) => name === wish.sort)?.column
  const sign = wish.descending ? -1 : 1
  if (wish.sort === 'verdict') {
    const ranking = atlas.scores.find(({ name }) => name === RANKING)?.column
    const value = ({ row }: HeadName) => (ranking?.type === 'number' && ranking.values[row] >= 0 ? ranking.values[row] : -1)
    const rank = ({ verdict }: HeadName) => Math.min(verdictRank(verdict), 99)
    passing.sort((a, b) => -sign * (rank(a) - rank(b)) || value(b) - value(a) || a.row - b.row)
  } else if (column?.type === 'number') {
    const missing = (value: number) => (Number.isNaN(value) ? 1 : 0)
    const value = ({ row }: HeadName) => column.values[row]
    passing.sort((a, b) => missing(value(a)) - missing(value(b)) || sign * (value(a) - value(b)) || a.row - b.row)
  }
  if (!wish.group) return passing.length ? [{ name: '', heads: passing }] : []
  const groups = new Map<string, HeadName[]>()
  for (const head of passing) for (const name of groupNames(atlas, wish.group, head)) groups.set(name, [...(groups.get(name) ?? []), head])
  const entries = [...groups].map(([name, heads]) => ({ name, heads }))
  if (wish.group === 'verdict') return entries.sort((a, b) => verdictRank(a.name) - verdictRank(b.name))
  return wish.group === 'layer' ? entries.sort((a, b) => a.heads[0].layer - b.heads[0].layer) : entries
}

function groupNames(atlas: Atlas, group: string, head: HeadName): string[] {
  if (group === 'layer') return [`Layer ${head.layer}`]
  if (group === 'tags') return head.tags.length ? head.tags.slice(0, 1) : ['(none)']
  const column = atlas.scores.find(({ name }) => name === group)?.column
  return [column?.type === 'category' ? (column.categories[column.codes[head.row]] ?? '(none)') : '(none)']
}

/** Place of a head among all by a score, from 1 for the largest; null without a value. */
export function rank(values: Float32Array, row: number): number | null {
  if (Number.isNaN(values[row])) return null
  return 1 + values.reduce((count, value) => count + (value > values[row] ? 1 : 0), 0)
}

/** What a score is for a head like any other: the median over those that have it, and what even attention has. */
export function typical({ name, column }: Score): string {
  if (column.type !== 'number') return ''
  const values = column.values.filter((value) => Number.isFinite(value)).sort()
  if (values.length < 3) return ''
  const [below, above] = [values[(values.length - 1) >> 1], values[values.length >> 1]]
  return `median ${formatNumber((below + above) / 2)}${name === RANKING ? ', even attention 0' : ''}`
}

/** Roles that say where a head does not look: true, and no story. */
const DULL = /^diffuse$|sink$/

/**
 * The head to begin with: it has a role that tells where it looks and none that says where it does not, or both, or at
 * least a role, if any has; the best verdict among those, and then it stands first in the ranking.
 */
export function storyHead(atlas: Atlas): HeadName | null {
  const ranking = atlas.scores.find(({ name }) => name === RANKING)?.column
  if (ranking?.type !== 'number') return null
  const value = ({ row }: HeadName) => (ranking.values[row] >= 0 ? ranking.values[row] : -1)
  const able = atlas.heads.filter(({ verdict }) => verdict !== EVEN && verdict !== NO_MAP)
  const dullness = ({ tags }: HeadName) => (tags.length ? tags.filter((tag) => DULL.test(tag)).length / tags.length : 2)
  return (
    able.sort(
      (a, b) => dullness(a) - dullness(b) || verdictRank(a.verdict) - verdictRank(b.verdict) || value(b) - value(a) || a.row - b.row,
    )[0] ?? null
  )
}

/** Of every role the heads that have most of what tells it, the most frequent role first. */
export function bestOfRoles(atlas: Atlas, most: number): { role: string; rule: string; heads: HeadName[] }[] {
  return atlas.tags.flatMap(([role]) => {
    const { score, rule } = atlas.roles[role] ?? {}
    const column = atlas.scores.find(({ name }) => name === score)?.column
    if (rule === undefined || column?.type !== 'number') return []
    const value = ({ row }: HeadName) => (column.values[row] >= 0 ? column.values[row] : -1)
    const heads = atlas.heads.filter(({ tags }) => tags.includes(role)).sort((a, b) => value(b) - value(a) || a.row - b.row)
    return [{ role, rule, heads: heads.slice(0, most) }]
  })
}

/** One head's map, or the map of heads, as the scatter's stage draws it. */
export function asScatter(title: string, at: Float32Array, labels: string[], columns: Column[], colour: string | null): Scatter {
  return {
    title,
    sampled: '',
    subtitle: '',
    count: labels.length,
    dims: 2,
    at,
    labels,
    names: labels,
    raw: {},
    words: [],
    partners: null,
    truth: null,
    elsewhere: null,
    focus: null,
    columns,
    colour,
    rings: null,
    ringMeaning: '',
    looseMeaning: '',
    labelOrder: Int32Array.from({ length: labels.length }, (_, i) => i),
    quantiles: null,
    quality: [],
    kls: [],
    notes: [],
    settings: [],
    regions: [],
    periods: [],
  }
}

/** The strongest partners of the tokens of a head's map, by the mean of both ways, as its score counts them. */
export function headTruth(weights: Float32Array, wide: number, tokens: number[]): Truth {
  const count = tokens.length
  const stored = Math.max(1, Math.min(PARTNERS, (count - 1) >> 1))
  const rows = new Int32Array(count * stored).fill(-1)
  const values = new Float32Array(count * stored)
  tokens.forEach((from, row) => {
    const pairs = tokens.map((to, other) => ({ other, weight: (weights[from * wide + to] + weights[to * wide + from]) / 2 }))
    const best = pairs.filter(({ other, weight }) => other !== row && weight > 0).sort((a, b) => b.weight - a.weight || a.other - b.other)
    best.slice(0, stored).forEach(({ other, weight }, i) => {
      rows[row * stored + i] = other
      values[row * stored + i] = weight
    })
  })
  return { k: stored, stored, rows, values, byWeight: true, among: null, sketch: null }
}

/** The chosen rows of a column, for maps that leave some items out. */
export function takeColumn(column: Column, rows: Int32Array): Column {
  if (column.type === 'number') return { ...column, values: Float32Array.from(rows, (row) => column.values[row]) }
  const codes = Int32Array.from(rows, (row) => column.codes[row])
  return { ...column, codes, counts: column.counts.map((_, code) => codes.reduce((sum, one) => sum + (one === code ? 1 : 0), 0)) }
}
