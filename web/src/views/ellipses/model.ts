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
  /** What its sizes do not tell: items without an ellipse, sizes that nothing judges. */
  notes: string[]
  counts: Int32Array | null
  /** 1 for words of the closed classes; null where there are none, or no others. */
  functionWords: Uint8Array | null
  passages: (row: number) => Passage[]
}

/** What the size of an ellipse stands for, as it is drawn, by the smallest, the middle and the largest that are drawn. */
export interface AreaKey {
  label: string
  variance: number
  /** Radius of a circle of the same area, the largest being 1. */
  radius: number
}

/** The key of areas, which are κ² × variance; empty where an area is no variance and there is no κ². */
export function areaKey(
  { outlines: { long, short } }: Pick<Ellipses, 'outlines'>,
  labels: string[],
  kappa2: number | null,
  absent: Uint8Array | null,
): AreaKey[] {
  const rows = kappa2 ? Array.from(long.keys()).filter((row) => long[row] > 0 && short[row] > 0 && !absent?.[row]) : []
  if (rows.length < 3) return []
  const area = (row: number) => long[row] * short[row]
  const sorted = rows.sort((a, b) => area(a) - area(b) || a - b)
  const chosen = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)!]
  const largest = Math.max(...chosen.map(area))
  return chosen.map((row) => ({ label: labels[row], variance: area(row) / kappa2!, radius: Math.sqrt(area(row) / largest) }))
}

interface Properties {
  outline_meaning?: string
  outline_notes?: string[]
}

export function readEllipses(view: View): Ellipses {
  const { arrays } = view
  const starts = arrays['context_starts']?.data as Int32Array | undefined
  const ends = arrays['context_ends']?.data as Int32Array | undefined
  const words = arrays['context_words']?.data as Int32Array | undefined
  const bytes = arrays['context_text']?.data as Uint8Array | undefined
  const decoder = new TextDecoder()
  return {
    outlines: outlinesOf(arrays['outlines'].data, arrays['outer']?.data as Float32Array | undefined),
    meaning: (view.properties as Properties).outline_meaning ?? '',
    notes: (view.properties as Properties).outline_notes ?? [],
    functionWords: (arrays['function_words']?.data as Uint8Array | undefined) ?? null,
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
