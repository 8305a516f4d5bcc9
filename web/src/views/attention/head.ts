import type { Joined } from '../../lib/words'

/** One head's weights, row-major queries × keys, and the tokens of both sides. */
export interface Head {
  weights: Float32Array
  queries: string[]
  keys: string[]
  specialQueries: Uint8Array
  specialKeys: Uint8Array
  /** The tokenizer's own label of every token that is written otherwise. */
  raw: Record<string, string>
}

/** An edge that was cut: what it does, and the likeliest next word where it changes most; chances are null of encoders. */
export interface Cut {
  query: number
  key: number
  weight: number
  effect: number
  /** What is said instead of a number: "none found" below the rounding floor. */
  found: string
  moved: number
  before: string
  after: string
  before_chance: number | null
  after_chance: number | null
}

/** The head with the pieces of words joined: weights are summed over keys and averaged over queries. */
export function joined(head: Head, queries: Joined, keys: Joined): Head {
  const [wide, narrow] = [head.keys.length, keys.groups.length]
  const weights = new Float32Array(queries.groups.length * narrow)
  for (let query = 0; query < head.queries.length; query++) {
    const row = queries.of[query]
    const share = 1 / queries.groups[row].length
    for (let key = 0; key < wide; key++) weights[row * narrow + keys.of[key]] += share * head.weights[query * wide + key]
  }
  return {
    ...head,
    weights,
    queries: queries.labels,
    keys: keys.labels,
    specialQueries: Uint8Array.from(queries.groups, ([first]) => head.specialQueries[first]),
    specialKeys: Uint8Array.from(keys.groups, ([first]) => head.specialKeys[first]),
  }
}

export type Direction = 'to' | 'from'

export interface Link {
  token: number
  weight: number
}

/** Places of the tokens that are shown. */
export function shownTokens(special: Uint8Array, hide: boolean): Int32Array {
  return Int32Array.from({ length: special.length }, (_, i) => i).filter((i) => !hide || !special[i])
}

/** Whether no query attends to what comes after it. */
export function isCausal({ weights, queries, keys }: Head): boolean {
  const wide = keys.length
  return (
    wide > 1 && queries.every((_, query) => weights.subarray(query * wide + query + 1, (query + 1) * wide).every((weight) => weight === 0))
  )
}

/** The same with the first token among those that can be hidden. */
export function withFirst(special: Uint8Array): Uint8Array {
  return Uint8Array.from(special, (one, at) => (at ? one : 1))
}

/** The weights of a token, to every key ("to") or from every query ("from"). */
export function linked(head: Head, token: number, direction: Direction): Float32Array {
  const wide = head.keys.length
  if (direction === 'to') return head.weights.subarray(token * wide, (token + 1) * wide)
  return Float32Array.from({ length: head.queries.length }, (_, query) => head.weights[query * wide + token])
}

/** What a token would give each key ("to"), or get from each query ("from") on average, if weight were spread evenly. */
export function evenWeight(head: Head, token: number, direction: Direction): number {
  const wide = head.keys.length
  if (!isCausal(head)) return 1 / wide
  if (direction === 'to') return 1 / Math.min(token + 1, wide)
  const later = head.queries.slice(token).map((_, after) => 1 / Math.min(token + after + 1, wide))
  return later.reduce((sum, one) => sum + one, 0) / Math.max(later.length, 1)
}

/** The strongest of the weights among the shown tokens, strongest first; none of nothing. */
export function strongest(weights: ArrayLike<number>, shown: Int32Array, most: number): Link[] {
  const links = Array.from(shown, (token) => ({ token, weight: weights[token] })).filter(({ weight }) => weight > 0)
  return links.sort((a, b) => b.weight - a.weight || a.token - b.token).slice(0, most)
}

/** The query to begin with: a word whose strongest weight goes to another word; null where there is none. */
export function tellingQuery({ weights, queries, keys, specialQueries, specialKeys }: Head): number | null {
  const isWord = (token: string) => /^\W*\p{L}{3,}$/u.test(token)
  let best = { query: null as number | null, weight: 0 }
  queries.forEach((query, row) => {
    if (specialQueries[row] || !isWord(query)) return
    keys.forEach((key, column) => {
      const weight = row === column || specialKeys[column] || !isWord(key) ? 0 : weights[row * keys.length + column]
      if (weight > best.weight) best = { query: row, weight }
    })
  })
  return best.query
}

/** The largest and the mean weight that each key gets from the shown queries. */
export function overQueries(head: Head, queries: Int32Array): { maximum: Float32Array; mean: Float32Array } {
  const wide = head.keys.length
  const maximum = new Float32Array(wide)
  const mean = new Float32Array(wide)
  for (const query of queries)
    for (let key = 0; key < wide; key++) {
      const weight = head.weights[query * wide + key]
      if (weight > maximum[key]) maximum[key] = weight
      mean[key] += weight / queries.length
    }
  return { maximum, mean }
}

/** The largest value, and of differences the largest in either direction. */
export function largest(values: Float32Array): number {
  let most = 0
  for (const value of values) if (Math.abs(value) > most) most = Math.abs(value)
  return most
}

/** A weight as text: shares of one, with three figures where they are small. */
export function weightText(weight: number): string {
  if (weight === 0) return '0'
  if (weight < 0.0005) return '< 0.0005'
  return weight.toFixed(weight < 0.0995 ? 4 : 3)
}

/** A token as it can be seen: spaces and line ends have signs. */
export function tokenText(token: string): string {
  const visible = token.replace(/\r?\n/g, '⏎').replace(/\t/g, '⇥')
  return visible.trim() === '' ? '␣'.repeat(Math.max(visible.length, 1)) : visible
}

/** The second head's weights less the first one's. */
export function difference(first: Head, second: Head): Float32Array {
  return second.weights.map((weight, at) => weight - first.weights[at])
}

/** The share of each query's attention that goes to other keys: half the sum of its absolute differences, 0 to 1. */
export function elsewhere(differences: Float32Array, wide: number): Float32Array {
  return Float32Array.from({ length: differences.length / wide }, (_, query) => {
    const row = differences.subarray(query * wide, (query + 1) * wide)
    return row.reduce((sum, one) => sum + Math.abs(one), 0) / 2
  })
}

/** The keys whose weight differs most in a row, the largest difference first. */
export function mostDifferent(differences: Float32Array, wide: number, query: number, shown: Int32Array, most: number): number[] {
  const far = (key: number) => Math.abs(differences[query * wide + key])
  return [...shown]
    .filter((key) => far(key) >= 0.0005)
    .sort((a, b) => far(b) - far(a) || a - b)
    .slice(0, most)
}

/** A difference of weights as text, with its sign. */
export function differenceText(value: number): string {
  return `${value < 0 ? '−' : value > 0 ? '+' : ''}${weightText(Math.abs(value))}`
}
