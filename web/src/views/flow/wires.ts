/** A box of the graph: its left and upper edges. */
export interface Place {
  x: number
  y: number
}

/** Sizes that all boxes of a graph share. */
export interface Sizes {
  wide: number
  high: number
}

/** The circle of an operation stands before the box that it makes. */
export const CIRCLE = { before: 18, radius: 11 }

/** How far above a row of boxes a wire passes over them: beyond the names of the boxes, on two lines. */
export const OVER = 35

const ROUND = 7
const BELOW = 16

/** Whether a curve with these four points crosses a box. */
function leadsThrough(points: number[][], box: Place, { wide, high }: Sizes): boolean {
  for (let t = 0; t <= 1; t += 0.02) {
    let now = points
    while (now.length > 1) now = now.slice(1).map((one, i) => one.map((value, axis) => now[i][axis] * (1 - t) + value * t))
    const [x, y] = now[0]
    if (x > box.x && x < box.x + wide && y > box.y && y < box.y + high) return true
  }
  return false
}

/**
 * The wire from a box to the operation before another. Where a third box stands between them at the same height,
 * the wire passes over that one: through it, it would read as if the third had a part in the operation. Where the way
 * between two heights would lead through a third box, the wire goes below it and comes up onto the operation.
 */
export function wirePath(from: Place, to: Place, all: readonly Place[], { wide, high }: Sizes): string {
  const [x0, y0, y1] = [from.x + wide, from.y + high / 2, to.y + high / 2]
  const circle = to.x - CIRCLE.before
  const between = all.filter((box) => box.x > from.x && box.x < to.x && box.y < Math.max(y0, y1) && box.y + high > Math.min(y0, y1))
  if (!between.length || from.y !== to.y) {
    const x1 = circle - CIRCLE.radius
    const bend = Math.max(18, (x1 - x0) / 2)
    const bends = [
      [x0 + 3, y0],
      [x0 + bend, y0],
      [x1 - bend, y1],
      [x1, y1],
    ]
    if (!between.some((box) => leadsThrough(bends, box, { wide, high })))
      return `M${x0 + 3} ${y0}C${bends
        .slice(1)
        .map((one) => one.join(' '))
        .join(' ')}`
    const under = Math.max(...between.map((box) => box.y)) + high + BELOW
    const down = x0 + 1 + ROUND
    const turn = under > y0 ? ROUND : -ROUND
    return (
      `M${x0} ${y0}H${down - ROUND}Q${down} ${y0} ${down} ${y0 + turn}V${under - turn}Q${down} ${under} ${down + ROUND} ${under}` +
      `H${circle - ROUND}Q${circle} ${under} ${circle} ${under - ROUND}V${y1 + CIRCLE.radius}`
    )
  }
  // Out of the box below its corner, up, over what is between, and down onto the circle.
  const out = from.y + Math.min(0.14 * high, 12)
  const over = Math.min(...between.map((box) => box.y)) - OVER
  const up = x0 + 1 + ROUND
  return (
    `M${x0} ${out}H${up - ROUND}Q${up} ${out} ${up} ${out - ROUND}V${over + ROUND}Q${up} ${over} ${up + ROUND} ${over}` +
    `H${circle - ROUND}Q${circle} ${over} ${circle} ${over + ROUND}V${y1 - CIRCLE.radius}`
  )
}
