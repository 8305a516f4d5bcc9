import type { Rows } from '../lib/link.svelte'
import type { View } from '../lib/view'

interface Described {
  labels?: string[]
  tokens?: string[]
  keys?: string[]
  columns?: { name: string; array: string }[]
}

/** The tokens or words that a view shows, with their places in the text where they have some; null for other views. */
export function rowsIn(view: View): Rows | null {
  const { labels, tokens, keys, columns } = view.properties as Described
  if (labels) {
    // Where sentences are read one by one, a token's number is that in the whole text, and its position that in its sentence.
    const position = columns?.find(({ name }) => name === 'token number') ?? columns?.find(({ name }) => name === 'position')
    return { labels, positions: (position && view.arrays[position.array]?.data) ?? null }
  }
  const read = tokens ?? keys
  return read ? { labels: read, positions: read.map((_, at) => at) } : null
}
