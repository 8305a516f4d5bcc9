import type { View } from '../../lib/view'

/** One box: a distribution in a few numbers; whiskers are low and high. */
export interface Box {
  group: number
  series: number
  count: number
  low: number
  q1: number
  median: number
  q3: number
  high: number
  mean: number
  sd: number
  outliers: number[]
}

export interface Boxes {
  title: string
  subtitle: string
  x: string
  y: string
  groups: string[]
  series: string[]
  /** Rank of each series' colour; a series drawn full shares it with the one it goes with. */
  hues: number[]
  full: boolean[]
  notes: string[]
  boxes: Box[]
}

/** The view's arrays as boxes; pairs without a value have none. */
export function readBoxes(view: View): Boxes {
  const properties = view.properties as unknown as Omit<Boxes, 'boxes'>
  const { data, shape } = view.arrays['numbers']
  const [groups, series, wide] = shape
  const boxes: Box[] = []
  const place = new Map<number, Box>()
  for (let at = 0; at < groups * series; at++) {
    const [count, low, q1, median, q3, high, mean, sd] = data.subarray(at * wide, (at + 1) * wide)
    if (!count) continue
    const box = { group: Math.floor(at / series), series: at % series, count, low, q1, median, q3, high, mean, sd, outliers: [] }
    place.set(at, box)
    boxes.push(box)
  }
  const owners = view.arrays['outlier_of'].data
  view.arrays['outliers'].data.forEach((value, i) => place.get(owners[i])?.outliers.push(value))
  return { ...properties, boxes }
}

/** Round values that span low to high, at most so many steps apart. */
export function ticks(low: number, high: number, most = 7): number[] {
  if (!(high > low)) return [low]
  const raw = (high - low) / most
  const scale = 10 ** Math.floor(Math.log10(raw))
  const step = [1, 2, 5, 10].map((m) => m * scale).find((s) => s >= raw * (1 - 1e-9))!
  const out: number[] = []
  for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++) out.push(Number((i * step).toPrecision(12)))
  return out
}
