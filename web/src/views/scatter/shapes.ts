/** Factor from a point's radius to the farthest reach of its shape (a triangle's corner). */
export const REACH = 1.56

/** Dashes of a broken ring, and how much of each step is drawn. */
const DASHES = 7
const DASH = 0.6
/** A circle's attributes for such a ring, whatever its size. */
export const DASHED = { pathLength: DASHES, 'stroke-dasharray': `${DASH} ${(1 - DASH).toFixed(1)}` }
/** Whether a broken ring has a gap in this direction, in GLSL of a vec2 `p` and in numbers. */
export const GAP = `fract(atan(p.y, p.x) * ${(DASHES / (2 * Math.PI)).toFixed(6)}) >= ${DASH.toFixed(1)}`
export function isGap(x: number, y: number): boolean {
  const turn = (Math.atan2(y, x) * DASHES) / (2 * Math.PI)
  return turn - Math.floor(turn) >= DASH
}

/** Signed distance to a shape's edge, y downward; the areas of all four equal a circle of radius r. */
export function shapeDistance(shape: number, x: number, y: number, r: number): number {
  if (shape === 3) return Math.max(Math.abs(x), Math.abs(y)) - 0.886 * r
  if (shape === 2) return (Math.abs(x) + Math.abs(y)) * 0.7071 - 0.886 * r
  if (shape === 1) return Math.max(Math.abs(x) * 0.866 - y * 0.5, y) - 0.777 * r
  return Math.hypot(x, y) - r
}

/** The outline of a shape of radius r around (x, y), as an SVG path; a circle has an element of its own. */
export function shapePath(shape: number, x: number, y: number, r: number): string {
  const corners: [number, number][] =
    shape === 3
      ? [
          [-0.886, -0.886],
          [0.886, -0.886],
          [0.886, 0.886],
          [-0.886, 0.886],
        ]
      : shape === 2
        ? [
            [0, -1.253],
            [1.253, 0],
            [0, 1.253],
            [-1.253, 0],
          ]
        : [
            [0, -1.554],
            [1.346, 0.777],
            [-1.346, 0.777],
          ]
  return `M${corners.map(([u, v]) => `${(x + u * r).toFixed(2)} ${(y + v * r).toFixed(2)}`).join('L')}Z`
}
