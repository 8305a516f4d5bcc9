import type { Numbers } from '../../lib/view'

/** The outlines of ellipses around points: semi-axes in map units, and the long one's angle, y upward. NaN for none. */
export interface Outlines {
  long: Float32Array
  short: Float32Array
  angle: Float32Array
  /** How many times as wide a second, fainter outline is; absent where there is none. */
  outer?: Float32Array
  /** 1 where the outline is dashed, its place or its size saying little; absent where all are sound. */
  doubtful?: Uint8Array
}

/** A second outline is drawn where it is so many times as wide as the first. */
export const NOTED = 1.03

/** From outlines as Python gives them, n × (xx, xy, yy): the matrix whose eigenvalues are squared semi-axes. */
export function outlinesOf(shapes: Numbers, outer?: Float32Array): Outlines {
  const count = shapes.length / 3
  const out: Outlines = { long: new Float32Array(count), short: new Float32Array(count), angle: new Float32Array(count) }
  for (let i = 0; i < count; i++) {
    const [xx, xy, yy] = [shapes[3 * i], shapes[3 * i + 1], shapes[3 * i + 2]]
    const middle = (xx + yy) / 2
    const away = Math.hypot((xx - yy) / 2, xy)
    out.long[i] = Math.sqrt(middle + away)
    out.short[i] = Math.sqrt(Math.max(middle - away, 0))
    out.angle[i] = Math.atan2(2 * xy, xx - yy) / 2
  }
  if (outer) out.outer = outer
  return out
}

/** How far an ellipse reaches from its centre along x and y; 0 where there is none. */
export function reach({ long, short, angle, outer }: Outlines, row: number): [number, number] {
  const [cos, sin] = [Math.cos(angle[row]), Math.sin(angle[row])]
  const wide = Math.max(outer?.[row] || 1, 1)
  const along = Math.hypot(long[row] * cos, short[row] * sin) * wide
  const up = Math.hypot(long[row] * sin, short[row] * cos) * wide
  return [along || 0, up || 0]
}

/** The smallest allowed ellipse around (x, y), or -1: what lies within another is drawn, and meant, first. */
export function containing(outlines: Outlines, plane: Float32Array, x: number, y: number, allowed: (row: number) => boolean): number {
  const { long, short, angle } = outlines
  let best = -1
  let least = Infinity
  for (let row = 0; row < long.length; row++) {
    const area = long[row] * short[row]
    if (!(area > 0) || area >= least || !allowed(row)) continue
    const [dx, dy] = [x - plane[2 * row], y - plane[2 * row + 1]]
    const [cos, sin] = [Math.cos(angle[row]), Math.sin(angle[row])]
    const u = (dx * cos + dy * sin) / long[row]
    const v = (dy * cos - dx * sin) / short[row]
    if (u * u + v * v <= 1) [best, least] = [row, area]
  }
  return best
}
