import type { View } from '../../lib/view'
import { outlinesOf, type Outlines } from '../scatter/outlines'

/** A passage that the word stands in, cut around it. */
export interface Passage {
  before: string
  word: string
  after: string
}

/** What an ellipse view holds beside its points. */
export interface Ellipses {
  outlines: Outlines
  /** What an outline means, and how many contexts there are of each item; null where there are no passages. */
  meaning: string
  counts: Int32Array | null
  passages: (row: number) => Passage[]
}

interface Properties {
  outline_meaning?: string
}

export function readEllipses(view: View): Ellipses {
  const { arrays } = view
  const starts = arrays['context_starts']?.data as Int32Array | undefined
  const ends = arrays['context_ends']?.data as Int32Array | undefined
  const words = arrays['context_words']?.data as Int32Array | undefined
  const bytes = arrays['context_text']?.data as Uint8Array | undefined
  const decoder = new TextDecoder()
  return {
    outlines: outlinesOf(arrays['outlines'].data),
    meaning: (view.properties as Properties).outline_meaning ?? '',
    counts: (arrays['context_counts']?.data as Int32Array | undefined) ?? null,
    passages(row) {
      if (!starts || !ends || !words || !bytes) return []
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
