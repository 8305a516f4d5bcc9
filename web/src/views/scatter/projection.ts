/**
 * From n × dims coordinates to the n × 2 plane that is drawn: two chosen axes, or for three
 * dimensions a turn around the centre seen without perspective.
 */

/** Row-major 3 × 3; its rows are the screen's right, up and toward-the-reader directions. */
export type Turn = readonly number[]

export const NO_TURN: Turn = [1, 0, 0, 0, 1, 0, 0, 0, 1]

/** The first sight of a 3-D map: a little from the side and from above, so that no axis hides another. */
export const FIRST_TURN: Turn = turned(turned(NO_TURN, 0.6, 0), 0, 0.4)

/** The turn after dragging by (yaw, pitch) radians: right turns rightward, down tips toward the reader. */
export function turned(turn: Turn, yaw: number, pitch: number): Turn {
  const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)]
  return orthonormal(multiply(multiply([1, 0, 0, 0, cp, -sp, 0, sp, cp], [cy, 0, sy, 0, 1, 0, -sy, 0, cy]), turn))
}

/** Columns `first` and `second` of the coordinates. */
export function axes(at: Float32Array, dims: number, first: number, second: number): Float32Array {
  const count = at.length / dims
  const plane = new Float32Array(count * 2)
  for (let i = 0; i < count; i++) {
    plane[2 * i] = at[i * dims + first]
    plane[2 * i + 1] = second < dims ? at[i * dims + second] : 0
  }
  return plane
}

/** The plane seen after a turn around `centre`, and each point's nearness from 0 (far) to 1 (near). */
export function orbit(at: Float32Array, centre: number[], turn: Turn): { plane: Float32Array; near: Float32Array } {
  const count = at.length / 3
  const plane = new Float32Array(count * 2)
  const near = new Float32Array(count)
  let low = Infinity
  let high = -Infinity
  for (let i = 0; i < count; i++) {
    const x = at[3 * i] - centre[0]
    const y = at[3 * i + 1] - centre[1]
    const z = at[3 * i + 2] - centre[2]
    plane[2 * i] = turn[0] * x + turn[1] * y + turn[2] * z
    plane[2 * i + 1] = turn[3] * x + turn[4] * y + turn[5] * z
    near[i] = turn[6] * x + turn[7] * y + turn[8] * z
    if (near[i] < low) low = near[i]
    if (near[i] > high) high = near[i]
  }
  for (let i = 0; i < count; i++) near[i] = high > low ? (near[i] - low) / (high - low) : 0.5
  return { plane, near }
}

/** The middle of a 3-D cloud. */
export function middle(at: Float32Array): number[] {
  const count = Math.max(at.length / 3, 1)
  const centre = [0, 0, 0]
  for (let i = 0; i < at.length; i++) centre[i % 3] += at[i] / count
  return centre
}

function multiply(a: Turn, b: Turn): Turn {
  return a.map((_, at) => {
    const row = at - (at % 3)
    return a[row] * b[at % 3] + a[row + 1] * b[(at % 3) + 3] + a[row + 2] * b[(at % 3) + 6]
  })
}

/** Gram–Schmidt, so that a thousand small turns do not shear the picture. */
function orthonormal(turn: Turn): Turn {
  const [a, b, c, d, e, f] = turn
  const first = 1 / Math.hypot(a, b, c)
  const right = [a * first, b * first, c * first]
  const overlap = d * right[0] + e * right[1] + f * right[2]
  const up = [d - overlap * right[0], e - overlap * right[1], f - overlap * right[2]]
  const second = 1 / Math.hypot(up[0], up[1], up[2])
  const [ux, uy, uz] = up.map((value) => value * second)
  return [...right, ux, uy, uz, right[1] * uz - right[2] * uy, right[2] * ux - right[0] * uz, right[0] * uy - right[1] * ux]
}
