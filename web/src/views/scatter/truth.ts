import { hex, NEUTRAL, rampColour, rgb, type Theme } from '../../lib/colour'
import { formatCount, formatNumber } from '../../lib/format'
import type { Scatter } from './model'
import { neighbours } from './neighbours'
import type { Style } from './style'

/** How faint a point is of which it is only known that it is none of the nearest. */
const UNKNOWN_ALPHA = 70

/** How far the layout tore a point from its true neighbours and glued strangers to it, 0 to 1; NaN if not judged. */
export interface Damage {
  torn: Float32Array
  glued: Float32Array
}

/** Damage from continuity and trustworthiness, which are about a half by chance and 1 where nothing is wrong. */
export function damageOf({ columns }: Scatter): Damage | null {
  const read = (score: string) => {
    const column = columns.find((one) => one.score === score)
    return column?.type === 'number' ? column.values.map((value) => Math.min(1, Math.max(0, 2 * (1 - value)))) : null
  }
  const [torn, glued] = [read('continuity'), read('trustworthiness')]
  return torn && glued ? { torn, glued } : null
}

/** Cells of the shading that a point reaches. */
const REACH = 5

/** Sums over the points around each cell of a grid: of weights that fall with distance, and of both damages. */
export function damageAround(
  damage: Damage,
  order: Uint32Array,
  step: number,
  wide: number,
  tall: number,
  cell: (row: number) => [number, number],
): { weight: Float32Array; torn: Float32Array; glued: Float32Array } {
  const out = { weight: new Float32Array(wide * tall), torn: new Float32Array(wide * tall), glued: new Float32Array(wide * tall) }
  for (let i = 0; i < order.length; i += step) {
    const row = order[i]
    if (Number.isNaN(damage.torn[row] + damage.glued[row])) continue
    const [x, y] = cell(row)
    for (let r = Math.max(0, Math.ceil(y - REACH)); r <= Math.min(tall - 1, y + REACH); r++)
      for (let c = Math.max(0, Math.ceil(x - REACH)); c <= Math.min(wide - 1, x + REACH); c++) {
        const near = 1 - ((c - x) ** 2 + (r - y) ** 2) / REACH ** 2
        if (near <= 0) continue
        const at = r * wide + c
        out.weight[at] += near
        out.torn[at] += near * damage.torn[row]
        out.glued[at] += near * damage.glued[row]
      }
  }
  return out
}

/** The nearest of every item in the data, nearest first, row −1 where there are fewer; the first k are counted. */
export interface Truth {
  k: number
  stored: number
  rows: Int32Array
  /** How far each is in the data, or how strongly it is tied. */
  values: Float32Array
  byWeight: boolean
  /** Among whom neighbours are looked for; null for all. */
  among: Among | null
  /** What tells the distance of any two items; null where only the nearest are known. */
  sketch: Sketch | null
}

/** The vectors of all items in a byte a number: row-major, n × dims, what a step is on each axis, and the squared
 * length of each item along no axis. `error` is how far distances are off in the middle, as a share. */
export interface Sketch {
  bytes: Uint8Array
  dims: number
  scales: Float32Array
  rest: Float32Array
  error: number
}

/** The distance in the data of every item to one of them, as its sketch tells it. */
export function sketchedDistances({ bytes, dims, scales, rest }: Sketch, row: number): Float32Array {
  const own = Float32Array.from({ length: dims }, (_, d) => bytes[row * dims + d])
  const out = new Float32Array(rest.length)
  for (let i = 0, at = 0; i < out.length; i++) {
    let sum = 0
    for (let d = 0; d < dims; d++, at++) {
      const away = (bytes[at] - own[d]) * scales[d]
      sum += away * away
    }
    out[i] = i === row ? 0 : Math.sqrt(sum + rest[i] + rest[row])
  }
  return out
}

/** The group that each row is in, and that of its neighbours. In a causal text, where tokens stand: queries, of
 * the smaller group, see keys up to their own place. */
export interface Among {
  own: Int32Array
  sought: Int32Array
  place: Int32Array | null
}

function mayBe({ own, sought, place }: Among, row: number, other: number): boolean {
  if (other === row || own[other] !== sought[row]) return false
  return !place || (own[row] < sought[row] ? place[other] <= place[row] : place[other] >= place[row])
}

/** How many neighbours of a row are counted: k, but at most half of those who may be. */
function countedFor({ k, among, rows, stored }: Truth, row: number): number {
  if (!among) return k
  let count = 0
  for (let other = 0; other < rows.length / stored; other++) if (mayBe(among, row, other)) count++
  return Math.min(k, Math.max(count >> 1, Math.min(count, 1)))
}

/** What became of a neighbour: near in both, near in the data alone, near on the map alone. */
export type Fate = 'kept' | 'missing' | 'false'

export interface Neighbour {
  row: number
  fate: Fate
  /** How far it is in the data, or how strongly tied; NaN beyond what the map knows. */
  value: number
  /** Its place among all, from 1: of a missing one on the map, of a false one in the data (0 beyond what is known). */
  place: number
}

/** The true neighbours of a row and the false ones on the map; null where the map does not carry them. */
export function fatesOf(scatter: Scatter, row: number): Record<Fate, Neighbour[]> | null {
  const { truth } = scatter
  if (!truth || truth.rows[row * truth.stored] < 0) return null
  const { stored, rows, values, among } = truth
  const k = countedFor(truth, row)
  const known = Array.from({ length: stored }, (_, i) => rows[row * stored + i])
  const may = among ? (other: number) => mayBe(among, row, other) : undefined
  const near = neighbours(scatter.at, scatter.dims, row, k, may).map((one) => one.row)
  const isNear = new Set(near)
  const isTrue = new Set(known.slice(0, k))
  const one = (other: number, fate: Fate, place: number): Neighbour => {
    const at = known.indexOf(other)
    return { row: other, fate, value: at < 0 ? NaN : values[row * stored + at], place }
  }
  const truly = known.slice(0, k).filter((other) => other >= 0)
  const missing = truly.filter((other) => !isNear.has(other))
  const places = placesOnMap(scatter, row, missing, may)
  return {
    kept: truly.filter((other) => isNear.has(other)).map((other) => one(other, 'kept', 0)),
    missing: missing.map((other, i) => one(other, 'missing', places[i])),
    false: near.filter((other) => !isTrue.has(other)).map((other) => one(other, 'false', known.indexOf(other) + 1)),
  }
}

/** The place of some rows among all by their distance to one on the map, from 1. */
function placesOnMap({ at, dims, count }: Scatter, row: number, others: number[], may?: (other: number) => boolean): number[] {
  const squared = (i: number) => {
    let sum = 0
    for (let d = 0; d < dims; d++) sum += (at[i * dims + d] - at[row * dims + d]) ** 2
    return sum
  }
  const limits = others.map(squared)
  const places = others.map(() => 1)
  const farthest = Math.max(...limits)
  for (let i = 0; i < count; i++) {
    const far = squared(i)
    if (far < farthest && i !== row && (!may || may(i))) for (let j = 0; j < limits.length; j++) if (far < limits[j]) places[j]++
  }
  return places
}

/** Colours that distances are told apart by. */
const LEVELS = 64

/** The same points, all coloured by how far they are in the data from one of them, the nearest on top. */
function bySketch(style: Style, { stored, rows }: Truth, sketch: Sketch, row: number, theme: Theme): Style {
  const far = sketchedDistances(sketch, row)
  let first = Infinity
  let last = 0
  for (let i = 0; i < far.length; i++)
    if (i !== row) {
      if (far[i] < first) first = far[i]
      if (far[i] > last) last = far[i]
    }
  const steps = Array.from({ length: LEVELS }, (_, level) => [...rampColour(level / (LEVELS - 1), theme), 255])
  const ramp = new Uint32Array(Uint8Array.from(steps.flat()).buffer)
  const scale = last > first ? (LEVELS - 1) / (last - first) : 0
  const level = new Uint8Array(far.length)
  for (let i = 0; i < far.length; i++) level[i] = i === row ? LEVELS - 1 : LEVELS - 1 - Math.round((far[i] - first) * scale)
  const colours = new Uint8Array(style.colours.length)
  const painted = new Uint32Array(colours.buffer)
  for (let i = 0; i < far.length; i++) painted[i] = ramp[level[i]]
  const isNear = new Uint8Array(far.length)
  for (let i = row * stored; i < (row + 1) * stored; i++) if (rows[i] >= 0) isNear[rows[i]] = 1
  isNear[row] = 1
  return { ...style, colours, order: orderedBy(style.order, level, row), emphasis: isNear, quiet: null }
}

/** Rows by their level, the highest last, and one of them behind all: a counting sort. */
function orderedBy(rows: Uint32Array, level: Uint8Array, top: number): Uint32Array {
  const starts = new Uint32Array(LEVELS + 1)
  for (const row of rows) if (row !== top) starts[level[row] + 1]++
  for (let i = 0; i < LEVELS; i++) starts[i + 1] += starts[i]
  const out = new Uint32Array(rows.length)
  let shown = false
  for (const row of rows)
    if (row === top) shown = true
    else out[starts[level[row]]++] = row
  if (shown) out[out.length - 1] = top
  return out
}

/** Among whom neighbours are counted, where that is not all and goes without saying; empty elsewhere. */
export function amongNote({ among }: Truth): string {
  if (!among || among.sought.some((group) => group !== 0)) return ''
  const carrying = among.own.reduce((count, group) => count + (group === 0 ? 1 : 0), 0)
  return `Counted among the ${formatCount(carrying)} items that carry the map; inserted ones are nobody’s neighbour here.`
}

/** Whether a map counts its neighbours by distance in the data and has the score `kept` too, which counts by weights. */
export function tellsApart({ truth, columns }: Pick<Scatter, 'truth' | 'columns'>): boolean {
  return truth !== null && !truth.byWeight && columns.some(({ name }) => name === 'kept')
}

/** What the colours by true distance are of, in a sentence. */
export function truthNote({ sketch, stored, byWeight }: Truth): string {
  if (sketch) {
    const off = Math.max(0.1, Math.ceil(1000 * sketch.error) / 10)
    return `All points take the colour of their distance in the data to the one under the pointer; half of the distances are right to ${off} %.`
  }
  const what = byWeight ? 'strongest in the weights are coloured by weight' : 'nearest in the data are coloured by distance'
  return `The ${stored} ${what}; the map does not carry more, so the others are grey.`
}

/** What the colours by true distance stand for: the measure, its ends, and colours from near to far at equal steps. */
export interface TruthScale {
  measure: string
  near: string
  far: string
  colours: string[]
}

const STEPS = 9

/** The scale of `byTrueDistance` around a row; null where nothing is known of it. */
export function truthScale({ truth, names, settings }: Scatter, row: number, theme: Theme): TruthScale | null {
  if (!truth) return null
  const { stored, values, byWeight, sketch } = truth
  const known = sketch
    ? Array.from(sketchedDistances(sketch, row)).filter((_, other) => other !== row)
    : Array.from(values.subarray(row * stored, (row + 1) * stored)).filter(Number.isFinite)
  if (!known.length) return null
  const [least, most] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))]
  const metric = settings.find(([name]) => name === 'metric')?.[1]
  const measure = byWeight ? 'weight' : `${metric ? `${metric} ` : ''}distance in the data`
  const [near, far] = byWeight ? [most, least] : [least, most]
  // of weights the colour follows the square root, and what is known ends short of the darkest
  const shareOf = (step: number) => {
    if (sketch) return 1 - step
    if (!byWeight) return 1 - 0.8 * step
    return 0.2 + 0.8 * Math.sqrt(1 - step * (1 - far / (near || 1)))
  }
  return {
    measure: `${measure} from ${names[row] || '(no label)'}`,
    near: formatNumber(near),
    far: formatNumber(far),
    colours: Array.from({ length: STEPS }, (_, i) => hex(rampColour(shareOf(i / (STEPS - 1)), theme))),
  }
}

/** The same points coloured by how near they are in the data to one of them, or how strongly tied to it; those
 * beyond what is known are grey. */
export function byTrueDistance(style: Style, { truth, count }: Scatter, row: number, theme: Theme): Style {
  if (!truth) return style
  if (truth.sketch) return bySketch(style, truth, truth.sketch, row, theme)
  const { stored, rows, values, byWeight } = truth
  const colours = new Uint8Array(style.colours.length)
  // Four bytes at once: of very many points this is most of the work.
  new Uint32Array(colours.buffer).fill(new Uint32Array(Uint8Array.of(...rgb(NEUTRAL[theme]), UNKNOWN_ALPHA).buffer)[0])
  const last = Math.max(...Array.from({ length: stored }, (_, i) => values[row * stored + i]).filter(Number.isFinite), 0)
  const first = values[row * stored]
  const nearnessOf = (value: number) =>
    byWeight ? Math.sqrt(value / (first || 1)) : last > first ? 1 - (value - first) / (last - first) : 1
  const lit: number[] = [row]
  colours.set([...rampColour(1, theme), 255], 4 * row)
  for (let i = stored - 1; i >= 0; i--) {
    const other = rows[row * stored + i]
    if (other < 0) continue
    colours.set([...rampColour(0.2 + 0.8 * nearnessOf(values[row * stored + i]), theme), 255], 4 * other)
    lit.push(other)
  }
  const isLit = new Uint8Array(count)
  for (const one of lit) isLit[one] = 1
  const order = new Uint32Array(style.order.length)
  let at = 0
  for (const one of style.order) if (!isLit[one]) order[at++] = one
  for (const one of [...lit.slice(1), row]) if (style.visible[one]) order[at++] = one
  return { ...style, colours, order, emphasis: isLit, quiet: null }
}
