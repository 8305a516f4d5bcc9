import type { View } from '../../lib/view'
import { outlinesOf, type Outlines } from '../scatter/outlines'

/** What an ellipse view holds beside its points. */
export interface Ellipses {
  outlines: Outlines
  /** What an outline means. */
  meaning: string
  /** What a dashed outline means; empty where none is dashed. */
  doubtful: string
  /** What its sizes do not tell: items without an ellipse, sizes that nothing judges. */
  notes: string[]
  /** 1 for words of the closed classes; null where there are none, or no others. */
  functionWords: Uint8Array | null
}

/** What the size of an ellipse stands for, as it is drawn, by the smallest, the middle and the largest that are drawn. */
export interface AreaKey {
  label: string
  variance: number
  /** Radius of a circle of the same area, the largest being 1. */
  radius: number
}

/** The key of areas, which are κ² × variance: of two ellipses both. Empty where an area is no variance and there is no κ². */
export function areaKey(
  { outlines: { long, short } }: Pick<Ellipses, 'outlines'>,
  labels: string[],
  kappa2: number | null,
  absent: Uint8Array | null,
): AreaKey[] {
  const rows = kappa2 ? Array.from(long.keys()).filter((row) => long[row] > 0 && short[row] > 0 && !absent?.[row]) : []
  if (!rows.length) return []
  const area = (row: number) => long[row] * short[row]
  const sorted = rows.sort((a, b) => area(a) - area(b) || a - b)
  const chosen = [...new Set([sorted[0], sorted[sorted.length >> 1], sorted.at(-1)!])]
  const largest = Math.max(...chosen.map(area))
  return chosen.map((row) => ({ label: labels[row], variance: area(row) / kappa2!, radius: Math.sqrt(area(row) / largest) }))
}

interface Properties {
  outline_meaning?: string
  outline_notes?: string[]
  doubtful_meaning?: string
}

export function readEllipses(view: View): Ellipses {
  const { arrays } = view
  return {
    outlines: {
      ...outlinesOf(arrays['outlines'].data, arrays['outer']?.data as Float32Array | undefined),
      doubtful: arrays['doubtful']?.data as Uint8Array | undefined,
    },
    doubtful: (view.properties as Properties).doubtful_meaning ?? '',
    meaning: (view.properties as Properties).outline_meaning ?? '',
    notes: (view.properties as Properties).outline_notes ?? [],
    functionWords: (arrays['function_words']?.data as Uint8Array | undefined) ?? null,
  }
}
