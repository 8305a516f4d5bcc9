import { NEUTRAL, rampColour, rgb, type Theme } from '../../lib/colour'
import type { Scatter } from './model'
import { neighbours } from './neighbours'
import type { Style } from './style'

/** How faint a point is of which it is only known that it is none of the nearest. */
const UNKNOWN_ALPHA = 70

/** How far the layout tore a point from its true neighbours and glued strangers to it, 0 to 1; null if unknown. */
export interface Damage {
  torn: Float32Array
  glued: Float32Array
}

/** Damage from continuity and trustworthiness, which are about a half by chance and 1 where nothing is wrong. */
export function damageOf({ columns }: Scatter): Damage | null {
  const read = (score: string) => {
    const column = columns.find((one) => one.score === score)
    return column?.type === 'number' ? column.values.map((value) => Math.min(1, Math.max(0, 2 * (1 - value))) || 0) : null
  }
  const [torn, glued] = [read('continuity'), read('trustworthiness')]
  return torn && glued ? { torn, glued } : null
}

/** The nearest of every item in the data, nearest first, row −1 where there are fewer; the first k are counted. */
export interface Truth {
  k: number
  stored: number
  rows: Int32Array
  distances: Float32Array
}

/** What became of a neighbour: near in both, near in the data alone, near on the map alone. */
export type Fate = 'kept' | 'missing' | 'false'

export interface Neighbour {
  row: number
  fate: Fate
  /** How far it is in the data; NaN beyond what the map knows. */
  distance: number
  /** Its place among all, from 1: of a missing one on the map, of a false one in the data (0 beyond what is known). */
  place: number
}

/** The true neighbours of a row and the false ones on the map; null where the map does not carry them. */
export function fatesOf(scatter: Scatter, row: number): Record<Fate, Neighbour[]> | null {
  const { truth } = scatter
  if (!truth || truth.rows[row * truth.stored] < 0) return null
  const { k, stored, rows, distances } = truth
  const known = Array.from({ length: stored }, (_, i) => rows[row * stored + i])
  const near = neighbours(scatter.at, scatter.dims, row, k).map((one) => one.row)
  const isNear = new Set(near)
  const isTrue = new Set(known.slice(0, k))
  const one = (other: number, fate: Fate, place: number): Neighbour => {
    const at = known.indexOf(other)
    return { row: other, fate, distance: at < 0 ? NaN : distances[row * stored + at], place }
  }
  const truly = known.slice(0, k).filter((other) => other >= 0)
  const missing = truly.filter((other) => !isNear.has(other))
  const places = placesOnMap(scatter, row, missing)
  return {
    kept: truly.filter((other) => isNear.has(other)).map((other) => one(other, 'kept', 0)),
    missing: missing.map((other, i) => one(other, 'missing', places[i])),
    false: near.filter((other) => !isTrue.has(other)).map((other) => one(other, 'false', known.indexOf(other) + 1)),
  }
}

/** The place of some rows among all by their distance to one on the map, from 1. */
function placesOnMap({ at, dims, count }: Scatter, row: number, others: number[]): number[] {
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
    if (far < farthest && i !== row) for (let j = 0; j < limits.length; j++) if (far < limits[j]) places[j]++
  }
  return places
}

/** The same points coloured by how near they are in the data to one of them; those beyond what is known are grey. */
export function byTrueDistance(style: Style, { truth, count }: Scatter, row: number, theme: Theme): Style {
  if (!truth) return style
  const { stored, rows, distances } = truth
  const colours = new Uint8Array(style.colours.length)
  // Four bytes at once: of very many points this is most of the work.
  new Uint32Array(colours.buffer).fill(new Uint32Array(Uint8Array.of(...rgb(NEUTRAL[theme]), UNKNOWN_ALPHA).buffer)[0])
  const last = Math.max(...Array.from({ length: stored }, (_, i) => distances[row * stored + i]).filter(Number.isFinite), 0)
  const first = distances[row * stored]
  const lit: number[] = [row]
  colours.set([...rampColour(1, theme), 255], 4 * row)
  for (let i = stored - 1; i >= 0; i--) {
    const other = rows[row * stored + i]
    if (other < 0) continue
    const nearness = last > first ? 1 - (distances[row * stored + i] - first) / (last - first) : 1
    colours.set([...rampColour(0.2 + 0.8 * nearness, theme), 255], 4 * other)
    lit.push(other)
  }
  const isLit = new Uint8Array(count)
  for (const one of lit) isLit[one] = 1
  const order = new Uint32Array(style.order.length)
  let at = 0
  for (const one of style.order) if (!isLit[one]) order[at++] = one
  for (const one of [...lit.slice(1), row]) if (style.visible[one]) order[at++] = one
  return { ...style, colours, order }
}
