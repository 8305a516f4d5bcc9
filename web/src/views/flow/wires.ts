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

/**
 * The wire from a box to the operation before another. Where a third box stands between them at the same height,
 * the wire passes over that one: through it, it would read as if the third had a part in the operation.
 */
export function wirePath(from: Place, to: Place, all: readonly Place[], { wide, high }: Sizes): string {
  const [x0, y0, y1] = [from.x + wide, from.y + high / 2, to.y + high / 2]
  const circle = to.x - CIRCLE.before
  const between = all.filter((box) => box.x > from.x && box.x < to.x && box.y < Math.max(y0, y1) && box.y + high > Math.min(y0, y1))
  if (!between.length || from.y !== to.y) {
    const x1 = circle - CIRCLE.radius
    const bend = Math.max(18, (x1 - x0) / 2)
    return `M${x0 + 3} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`
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
