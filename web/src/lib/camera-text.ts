import type { Place } from '../views/scatter/stage'

/** So many coordinates tell one map from another. */
const TOLD_BY = 1000

/**
 * A place on a map as the address holds it: "x,y,zoom" with four figures, and behind them which map it is on, so that
 * another one is not opened where it may be empty; null for the whole map.
 */
export function keptPlace({ place }: { place: Place | null }, map?: Float32Array): string | null {
  if (!place) return null
  const figures = [place.x, place.y, place.zoom].map((value) => Number(value.toPrecision(4)))
  return [...figures, ...(map ? [printOf(map)] : [])].join(',')
}

/** The place that `keptPlace` wrote; null for any other text, and for a place on another map than this one. */
export function placeOf(text: string | null, map?: Float32Array): Place | null {
  const [figures, print, more] = [(text ?? '').split(',').slice(0, 3), ...(text ?? '').split(',').slice(3)]
  const [x, y, zoom] = figures.map((part) => (part.trim() ? Number(part) : NaN))
  if (more !== undefined || (print !== undefined && map && print !== printOf(map))) return null
  return Number.isFinite(x) && Number.isFinite(y) && zoom > 0 && Number.isFinite(zoom) ? { x, y, zoom } : null
}

/** A few letters by which the places of one map are told from those of another. */
function printOf(map: Float32Array): string {
  const few = map.slice(0, TOLD_BY)
  let hash = 0x811c9dc5
  for (const bits of new Uint32Array(few.buffer, few.byteOffset, few.length)) hash = Math.imul(hash ^ bits, 0x01000193)
  return `m${(hash >>> 0).toString(36)}`
}
