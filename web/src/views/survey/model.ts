import type { View } from '../../lib/view'
import { readMapOfHeads, type MapOfHeads } from '../atlas/headMap'
import { categoryColumn, numberColumn, type Column } from '../scatter/model'

/** A role that a head has on some texts, and the share of these; null where texts by themselves cannot tell. */
export interface Sometimes {
  role: string
  share: number | null
}

export interface SurveyHead {
  row: number
  layer: number
  head: number
  name: string
  names: string[]
  sometimes: Sometimes[]
  group: number
}

export interface SurveyScore {
  name: string
  label: string
  meaning: string
  format: string
  texts: number
}

export interface Interval {
  mean: number
  low: number
  high: number
}

/** A role of one head: its interval beside the threshold that it must be clear of. */
export interface HeadRole extends Interval {
  name: string
  rule: string
  threshold: number
  share: number
  state: 'no' | 'sometimes' | 'given'
}

/** One line of the tree: two branches at their places, and how far apart they are. */
export interface Branch {
  left: number
  right: number
  leftHeight: number
  rightHeight: number
  height: number
  group: number
}

/** A token of a passage: what is written, whether a space stands before it, and how strongly the query attends to it. */
export interface PassageToken {
  text: string
  space: boolean
  weight: number
  mark: 'query' | 'key' | 'both' | ''
}

export interface Passage {
  tokens: PassageToken[]
  weight: number
  beyond: number
  before: boolean
  after: boolean
}

export interface Survey {
  title: string
  subtitle: string
  heads: SurveyHead[]
  scores: SurveyScore[]
  roles: { name: string; rule: string; texts: number }[]
  /** Roles that somebody is given, with how many. */
  given: [string, number][]
  groups: { number: number; heads: number; recurrence: number | null }[]
  order: Int32Array
  branches: Branch[]
  headMap: MapOfHeads | null
  /** What heads can be coloured by on their map. */
  columns: { label: string; column: Column }[]
  notes: string[]
  interval(score: number, row: number): Interval
  rolesOf(row: number): HeadRole[]
  passages(row: number): Passage[]
}

const STATES = ['no', 'sometimes', 'given'] as const
/** Tokens around query and key that a passage shows. */
const AROUND = 24

/** The heads of a survey, with what the page asks of each. */
export function readSurvey(view: View): Survey {
  const { properties, arrays } = view
  const numbers = (name: string) => arrays[name].data
  const count = (properties['heads'] as number[][]).length
  const roles = properties['roles'] as Survey['roles']
  const names = properties['names'] as string[][]
  const groupOf = numbers('group')
  const cell = (name: string, row: number, column: number) => numbers(name)[row * count + column]
  const heads = (properties['heads'] as number[][]).map(([layer, head], row) => ({
    row,
    layer,
    head,
    name: `${layer}.${head}`,
    names: names[row],
    sometimes: roles.flatMap(({ name }, role) =>
      cell('state', role, row) === 1 ? [{ role: name, share: orNull(cell('share', role, row)) }] : [],
    ),
    group: groupOf[row],
  }))
  const counted = new Map<string, number>()
  for (const name of names.flat()) counted.set(name, (counted.get(name) ?? 0) + 1)
  const recurrence = properties['recurrence'] as (number | null)[]
  const flat = numbers('branches')
  const scores = properties['scores'] as SurveyScore[]
  return {
    title: String(properties['title'] ?? ''),
    subtitle: String(properties['subtitle'] ?? ''),
    heads,
    scores,
    roles,
    given: [...counted].sort((a, b) => b[1] - a[1]),
    groups: recurrence.map((share, number) => ({ number, heads: heads.filter(({ group }) => group === number).length, recurrence: share })),
    order: numbers('order') as Int32Array,
    branches: Array.from({ length: flat.length / 6 }, (_, at) => {
      const [left, right, leftHeight, rightHeight, height, group] = flat.subarray(6 * at, 6 * at + 6)
      return { left, right, leftHeight, rightHeight, height, group }
    }),
    headMap: readMapOfHeads(view),
    columns: [
      {
        label: 'group',
        column: categoryColumn(
          'group',
          groupOf,
          recurrence.map((_, number) => String(number)),
        ),
      },
      ...scores.map(({ name, label, format, meaning }, score) => ({
        label,
        column: {
          ...numberColumn(
            name,
            Float32Array.from(heads, ({ row }) => cell('mean', score, row)),
          ),
          format,
          meaning,
        },
      })),
    ],
    notes: (properties['notes'] as string[]) ?? [],
    interval: (score, row) => ({ mean: cell('mean', score, row), low: cell('low', score, row), high: cell('high', score, row) }),
    rolesOf: (row) =>
      roles.map(({ name, rule }, role) => ({
        name,
        rule,
        mean: cell('role_mean', role, row),
        low: cell('role_low', role, row),
        high: cell('role_high', role, row),
        threshold: cell('threshold', role, row),
        share: cell('share', role, row),
        state: STATES[cell('state', role, row)],
      })),
    passages: (row) => passagesOf(view, row),
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

/** What the reader asked for: the order, and which heads. */
export interface SurveyWish {
  /** "tree", "model", or the name of a score. */
  sort: string
  role: string | null
  group: number | null
  text: string
}

/** The heads that pass the filter, in the order asked for. */
export function arrangedHeads(survey: Survey, wish: SurveyWish): SurveyHead[] {
  const text = wish.text.trim().toLowerCase()
  const passing = (head: SurveyHead) =>
    (wish.role === null || head.names.includes(wish.role)) &&
    (wish.group === null || head.group === wish.group) &&
    (!text || head.name === text || head.name.startsWith(`${text}.`) || head.names.some((name) => name.includes(text)))
  if (wish.sort === 'tree') return Array.from(survey.order, (row) => survey.heads[row]).filter(passing)
  const score = survey.scores.findIndex(({ name }) => name === wish.sort)
  if (score < 0) return survey.heads.filter(passing)
  const value = (head: SurveyHead) => {
    const { mean } = survey.interval(score, head.row)
    return Number.isNaN(mean) ? -Infinity : mean
  }
  return survey.heads.filter(passing).sort((a, b) => value(b) - value(a) || a.row - b.row)
}

function passagesOf(view: View, row: number): Passage[] {
  const { arrays } = view
  const [, slots, partners] = arrays['passage_keys'].shape
  const texts = view.properties['tokens'] as string[][]
  const at = (name: string, slot: number) => arrays[name].data[row * slots + slot]
  const found: Passage[] = []
  for (let slot = 0; slot < slots; slot++) {
    const text = texts[at('passage_text', slot)]
    if (!text) continue
    const [query, key] = [at('passage_query', slot), at('passage_key', slot)]
    const weights = new Map<number, number>()
    for (let partner = 0; partner < partners; partner++) {
      const place = (row * slots + slot) * partners + partner
      if (arrays['passage_keys'].data[place] >= 0) weights.set(arrays['passage_keys'].data[place], arrays['passage_weights'].data[place])
    }
    const first = Math.max(0, Math.min(query, key) - AROUND)
    const last = Math.min(text.length, Math.max(query, key) + AROUND + 1)
    const isSpaced = text.some((token) => token.startsWith('␣'))
    let whole = ''
    found.push({
      tokens: text.slice(first, last).map((token, i) => {
        const place = first + i
        const piece = PIECE.exec(written(token))
        const shared = piece && piece[2] !== '1' ? overlap(whole, piece[1]) : 0
        if (piece) whole = piece[1]
        const mark = place === query ? (query === key ? 'both' : 'query') : place === key ? 'key' : ''
        return {
          text: piece ? piece[1].slice(shared) || (mark && written(token).slice(piece[1].length)) : written(token),
          space: i > 0 && isApart(token, isSpaced),
          weight: weights.get(place) ?? 0,
          mark,
        }
      }),
      weight: at('passage_weight', slot),
      beyond: at('passage_beyond', slot),
      before: first > 0,
      after: last < text.length,
    })
  }
  return found
}

/** A part of a character that the tokenizer cut: the character, and the number of the part. */
const PIECE = /^(.*?)\u200e?‹(\d+)\/\d+›$/su

/** How many letters the right text begins with that the left one ends with. */
function overlap(left: string, right: string): number {
  for (let n = Math.min(left.length, right.length); n > 0; n--) if (left.endsWith(right.slice(0, n))) return n
  return 0
}

/** A token as it stands in running text. */
function written(token: string): string {
  return token.replace(/^␣(?=.)/u, '').replace(/^##(?=.)/u, '')
}

/** Whether a space stands before a token: byte-level tokenizers say so; others part words, but not what follows them. */
function isApart(token: string, isSpaced: boolean): boolean {
  if (isSpaced) return token.startsWith('␣')
  return !token.startsWith('##') && /[\p{L}\p{N}]/u.test(token)
}
