import type { Place } from '../views/scatter/stage'

/** A place on a map as the address holds it: "x,y,zoom" with four figures; null for the whole map. */
export function keptPlace({ place }: { place: Place | null }): string | null {
  return place && [place.x, place.y, place.zoom].map((value) => Number(value.toPrecision(4))).join(',')
}

export function placeOf(text: string | null): Place | null {
  const [x, y, zoom, more] = (text ?? '').split(',').map((part) => (part.trim() ? Number(part) : NaN))
  return Number.isFinite(x) && Number.isFinite(y) && zoom > 0 && Number.isFinite(zoom) && more === undefined ? { x, y, zoom } : null
}
