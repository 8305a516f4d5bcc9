export interface Neighbour {
  row: number
  distance: number
}

/** The k rows nearest to a row by distance in all of the map's dimensions, nearest first; of those who may be. */
export function neighbours(at: Float32Array, dims: number, row: number, k: number, may?: (other: number) => boolean): Neighbour[] {
  const best: Neighbour[] = []
  for (let i = 0; i < at.length / dims; i++) {
    if (i === row || (may && !may(i))) continue
    let squared = 0
    for (let d = 0; d < dims; d++) squared += (at[i * dims + d] - at[row * dims + d]) ** 2
    if (best.length === k && squared >= best[k - 1].distance) continue
    let place = best.length
    while (place > 0 && best[place - 1].distance > squared) place--
    best.splice(place, 0, { row: i, distance: squared })
    if (best.length > k) best.pop()
  }
  return best.map(({ row, distance }) => ({ row, distance: Math.sqrt(distance) }))
}
