import { bounds } from './camera'
import type { Grid } from './grid'

/** The rows inside a closed outline (x, y, x, y, …) in world coordinates, in row order. */
export function insideOutline(
  outline: Float32Array,
  plane: Float32Array,
  grid: Grid,
  allowed: (row: number) => boolean = () => true,
): number[] {
  if (outline.length < 6) return []
  const rows: number[] = []
  grid.within(bounds(outline), (row) => {
    if (isInside(outline, plane[2 * row], plane[2 * row + 1]) && allowed(row)) rows.push(row)
  })
  return rows.sort((a, b) => a - b)
}

/** Even–odd rule: a ray to the right crosses the outline an odd number of times. */
export function isInside(outline: Float32Array, x: number, y: number): boolean {
  let inside = false
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [outline[i], outline[i + 1], outline[j], outline[j + 1]]
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside
  }
  return inside
}
