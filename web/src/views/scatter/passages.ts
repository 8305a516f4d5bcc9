import type { View } from '../../lib/view'

/** A passage that an item stands in, cut around it. */
export interface Passage {
  before: string
  word: string
  after: string
}

/** The passages of every item, and how many there are of each, of which the page may hold a part. */
export interface Passages {
  counts: Int32Array
  of: (row: number) => Passage[]
}

/** Null where a view brings no passages. */
export function readPassages({ arrays }: Pick<View, 'arrays'>): Passages | null {
  const counts = arrays['context_counts']?.data as Int32Array | undefined
  const starts = arrays['context_starts']?.data as Int32Array | undefined
  const ends = arrays['context_ends']?.data as Int32Array | undefined
  const words = arrays['context_words']?.data as Int32Array | undefined
  const bytes = arrays['context_text']?.data as Uint8Array | undefined
  if (!counts || !starts || !ends || !words || !bytes) return null
  const decoder = new TextDecoder()
  return {
    counts,
    of(row) {
      const found: Passage[] = []
      for (let at = starts[row]; at < starts[row + 1]; at++) {
        const text = decoder.decode(bytes.subarray(at ? ends[at - 1] : 0, ends[at]))
        const [start, end] = [words[2 * at], words[2 * at + 1]]
        found.push({ before: text.slice(0, start), word: text.slice(start, end), after: text.slice(end) })
      }
      return found
    },
  }
}
