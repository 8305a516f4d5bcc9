import type { View } from '../../lib/view'
import { numberColumn, type Figure, type NumberColumn } from '../scatter/model'

/** Where heads lie among each other, what the map keeps of each head's nearest, and how far to trust it. */
export interface MapOfHeads {
  xy: Float32Array
  kept: NumberColumn | null
  figures: Figure[]
}

/** The map of heads that a view carries; null where it has none. */
export function readMapOfHeads(view: View): MapOfHeads | null {
  const xy = view.arrays['head_xy']?.data as Float32Array | undefined
  if (!xy) return null
  const kept = view.arrays['head_kept']?.data as Float32Array | undefined
  const figures = (view.properties['head_map'] as Figure[] | undefined) ?? []
  const meaning = figures.find(({ name }) => name === 'kept')?.meaning
  return { xy, kept: kept ? { ...numberColumn('head_kept', kept), format: 'percent', meaning } : null, figures }
}
