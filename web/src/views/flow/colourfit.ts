/** The fitting of a vector's colour, as Sawatzky and Kozyr have it (equation 3 and Figure 5), with every step on the way. */

type Point = [number, number, number]

export interface Place {
  point: Point
  /** What is missing: the sum of squared differences of distances, each as important as its word is near. */
  stress: number
}

const FARTHEST = 0.25
const BACK_OFF = 1.3
const SETTLED = 1e-4
const STEPS = 2000

/**
 * From the middle of the words, a point moves by Σ φ (wanted − actual distance) along the directions from them. A move that makes
 * things worse is taken back, and the next ones are shorter by 1/1.3. The same as `force` of the library, which gives the last place alone.
 *
 * far are the vector's distances from the words, places the words' own in the cube, three numbers each.
 */
export function fitPlaces(far: ArrayLike<number>, places: ArrayLike<number>): Place[] {
  const count = far.length
  const words: Point[] = Array.from({ length: count }, (_, i) => [places[3 * i], places[3 * i + 1], places[3 * i + 2]])
  const most = Math.max(...Array.from(far), 1e-30)
  // The farthest word is put half a cube away, and weighs a quarter of what one at no distance would.
  const wanted = Array.from(far, (one) => one / most / 2)
  const importance = Array.from(far, (one) => FARTHEST ** (one / most))
  const pull = (point: Point): { force: Point; stress: number } => {
    const force: Point = [0, 0, 0]
    let stress = 0
    words.forEach((word, i) => {
      const away = point.map((value, axis) => value - word[axis])
      const length = Math.hypot(...away)
      const missing = importance[i] * (wanted[i] - length)
      stress += missing * (wanted[i] - length)
      for (let axis = 0; axis < 3; axis++) force[axis] += (missing / Math.max(length, 1e-12)) * away[axis]
    })
    return { force, stress }
  }
  let point = [0, 1, 2].map((axis) => words.reduce((sum, word) => sum + word[axis], 0) / count) as Point
  let { force, stress } = pull(point)
  const found: Place[] = [{ point, stress }]
  let backed = 0
  for (let step = 0; step < STEPS && backed < 60 && Math.hypot(...force) > SETTLED; step++) {
    const by = BACK_OFF ** -backed
    const moved = point.map((value, axis) => value + by * force[axis]) as Point
    const next = pull(moved)
    if (next.stress <= stress) {
      ;({ force, stress } = next)
      point = moved
      found.push({ point, stress })
    } else backed++
  }
  return found
}

/** The way through all places, cut into equally long pieces: the point at the end of each, and the step that it belongs to. */
export function alongWay(places: readonly Place[], pieces: number): { point: Point; step: number }[] {
  const gone = [0]
  for (let i = 1; i < places.length; i++)
    gone.push(gone[i - 1] + Math.hypot(...places[i].point.map((value, axis) => value - places[i - 1].point[axis])))
  const total = gone[gone.length - 1]
  let step = 0
  return Array.from({ length: pieces + 1 }, (_, piece) => {
    const way = (piece / pieces) * total
    while (step < places.length - 1 && gone[step] < way) step++
    const [before, after] = [places[Math.max(step - 1, 0)].point, places[step].point]
    const share = step === 0 ? 0 : (way - gone[step - 1]) / (gone[step] - gone[step - 1])
    return { point: before.map((value, axis) => value + share * (after[axis] - value)) as Point, step }
  })
}

/** A place in the cube as a colour of the screen; without a frame, the place itself is red, green and blue. */
export function cubeColour(place: ArrayLike<number>, frame: ArrayLike<number> | null): string {
  const inside = Array.from({ length: 3 }, (_, axis) => Math.min(Math.max(place[axis], 0), 1))
  const rgb = frame ? fromOklab(inside, frame) : inside
  return `rgb(${rgb.map((value) => Math.round(255 * Math.min(Math.max(value, 0), 1))).join(' ')})`
}

function fromOklab(place: number[], frame: ArrayLike<number>): number[] {
  const [L, a, b] = [0, 1, 2].map((i) => frame[i] + place.reduce((sum, at, axis) => sum + (at - 0.5) * frame[3 * (axis + 1) + i], 0))
  // Ottosson's matrices, from OKLab to cone responses and to linear light.
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((value) => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055))
}

/** A place in the cube as seen from a corner above, in units of its edge: right and down. */
export function projected([x, y, z]: ArrayLike<number> & Iterable<number>): [number, number] {
  return [(x - y) * 0.8, (x + y) * 0.42 - z * 0.92]
}
