import type { Rows } from '../lib/link.svelte'
import type { View } from '../lib/view'

interface Described {
  labels?: string[]
  tokens?: string[]
  keys?: string[]
  columns?: { name: string; array: string }[]
}

/** Views whose labels and tokens are those of heads, layers or several texts: nothing in them is followed. */
const OF_NO_ITEMS = new Set(['effects', 'probe', 'survey'])

/** The tokens or words that a view shows, with their places in the text where they have some; null for other views. */
export function rowsIn(view: View): Rows | null {
  if (OF_NO_ITEMS.has(view.kind)) return null
  const { labels, tokens, keys, columns } = view.properties as Described
  if (labels) {
    // Where sentences are read one by one, a token's number is that in the whole text, and its position that in its sentence.
    const position = columns?.find(({ name }) => name === 'token number') ?? columns?.find(({ name }) => name === 'position')
    return { labels, positions: (position && view.arrays[position.array]?.data) ?? null }
  }
  const read = tokens ?? keys
  return read ? { labels: read, positions: read.map((_, at) => at) } : null
}
