import type { View } from '../../lib/view'

/** One head, MLP or layer. Numbers are NaN where they are not known. */
export interface Part {
  row: number
  name: string
  kind: string
  layer: number
  head: number
  matters: number
  low: number
  high: number
  source: string
  /** What is said instead of a number: "none found" below the rounding floor. */
  found: string
  lossChange: number
  estimate: number
  share: number
  interest: number
  tags: string
  /** Of a group: its parts, what these do alone in sum, and the most that random groups like it do. */
  members: string
  alone: number
  othersMost: number
}

export interface EffectsModel {
  title: string
  subtitle: string
  how: string
  texts: number
  agreement: number | null
  notes: string[]
  /** Whether the scatter is shown alone. */
  scatter: boolean
  /** In the order of what they do, the strongest first. */
  parts: Part[]
  /** Groups that were taken away together, in the same order. */
  groups: Part[]
}

export const COLUMNS = ['matters', 'lossChange', 'share', 'interest', 'layer'] as const
export type Column = (typeof COLUMNS)[number]

export function readEffects(view: View): EffectsModel {
  const properties = view.properties as {
    title: string
    subtitle: string
    how: string
    texts: number
    agreement: number | null
    notes: string[]
    labels: string[]
    parts: string[]
    tags: string[]
    source: string[]
    found: string[]
    members: string[]
    scatter: boolean
  }
  const at = (name: string, row: number) => view.arrays[name].data[row]
  const order = Array.from(view.arrays['order'].data)
  const parts = order.map((row) => ({
    row,
    name: properties.labels[row],
    kind: properties.parts[row],
    layer: at('layer', row),
    head: at('head', row),
    matters: at('matters', row),
    low: at('matters_low', row),
    high: at('matters_high', row),
    source: properties.source[row],
    found: properties.found[row],
    lossChange: at('loss_change', row),
    estimate: at('estimate', row),
    share: at('share', row),
    interest: at('interest', row),
    tags: properties.tags[row],
    members: properties.members[row],
    alone: at('alone', row),
    othersMost: at('others_most', row),
  }))
  const { title, subtitle, how, texts, agreement, notes, scatter } = properties
  const isGroup = ({ kind }: Part) => kind === 'group'
  return {
    title,
    subtitle,
    how,
    texts,
    agreement,
    notes,
    scatter,
    parts: parts.filter((part) => !isGroup(part)),
    groups: parts.filter(isGroup),
  }
}

/** The parts by a column, the largest first (layers from 0 on); "matters" is the order that came with them. */
export function sorted(model: EffectsModel, column: Column): Part[] {
  const sign = column === 'layer' ? 1 : -1
  const value = (part: Part) => (Number.isNaN(part[column]) ? Infinity : sign * part[column])
  return [...model.parts].sort((a, b) => value(a) - value(b) || a.layer - b.layer || a.head - b.head)
}

/** A name beside a point: where its line of text begins or ends. */
export interface PlacedName {
  x: number
  y: number
  anchor: 'start' | 'end'
}

/** Pixels of a name: a figure or point of it, and a line. */
const LETTER = 6.6
const LINE = 12

/** Pixels by which a name is nearer to its own point than to any other. */
const NEARER = 2

/**
 * Names beside points, so that none lies on another and each is nearer to its own point than to any of `all`: above
 * or below it, to its right or left, wherever there is room first, between two places across. What comes first has
 * first choice; what finds no room has no name. A point that is marked stands out, so its name may be near others.
 */
export function placeNames(
  points: readonly { row: number; x: number; y: number; name: string; off?: number; marked?: boolean }[],
  from: number,
  to: number,
  all: readonly { row: number; x: number; y: number }[] = points,
): Map<number, PlacedName> {
  const placed = new Map<number, PlacedName>()
  const boxes: { left: number; right: number; top: number; bottom: number }[] = []
  for (const { row, x, y, name, off = 5, marked } of points) {
    const wide = name.length * LETTER
    const ways = ([-off, off + LINE - 3] as const).flatMap((down) =>
      (['start', 'end'] as const).map((anchor) => ({ x: x + (anchor === 'start' ? 6 : -6), y: y + down, anchor })),
    )
    const boxOf = (one: PlacedName) => {
      const left = one.anchor === 'start' ? one.x : one.x - wide
      return { left, right: left + wide, top: one.y - LINE + 2, bottom: one.y + 2 }
    }
    const isFree = (one: PlacedName) => {
      const box = boxOf(one)
      if (box.left < from || box.right > to) return false
      const away = (point: { x: number; y: number }) =>
        Math.hypot(Math.max(box.left - point.x, 0, point.x - box.right), Math.max(box.top - point.y, 0, point.y - box.bottom))
      const own = away({ x, y })
      if (!marked && all.some((other) => other.row !== row && away(other) < own + NEARER)) return false
      return !boxes.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)
    }
    const found = ways.find(isFree)
    if (!found) continue
    placed.set(row, found)
    boxes.push(boxOf(found))
  }
  return placed
}

/** Places on a plot of interest across and what a part does, by its logarithm, up; both from 0 to 1. */
export class Plot {
  readonly parts: Part[]
  readonly low: number
  readonly high: number

  constructor(model: EffectsModel) {
    this.parts = model.parts.filter((part) => !Number.isNaN(part.interest) && !Number.isNaN(part.matters))
    const values = this.parts.map((part) => part.matters).filter((value) => value > 0)
    const high = Math.max(...values, 1e-9)
    this.high = Math.log10(high) + 0.1
    this.low = Math.max(Math.log10(Math.min(...values, high)), this.high - 5) - 0.1
  }

  x(part: Part): number {
    return Math.min(Math.max(part.interest, 0), 1)
  }

  y(part: Part): number {
    const place = (Math.log10(Math.max(part.matters, 1e-30)) - this.low) / (this.high - this.low)
    return Math.min(Math.max(place, 0), 1)
  }

  /** Powers of ten within, and their double and fivefold where there are few, with their places. */
  get ticks(): { text: string; place: number }[] {
    const steps = this.high - this.low < 2.5 ? [1, 2, 5] : [1]
    const found = []
    for (let power = Math.floor(this.low); power <= Math.floor(this.high); power++) {
      for (const step of steps) {
        const place = (power + Math.log10(step) - this.low) / (this.high - this.low)
        if (place < 0 || place > 1) continue
        const text = power >= -4 ? String(Number((step * 10 ** power).toFixed(4))) : `${step}e${power}`
        found.push({ text: text.replace('-', '−'), place })
      }
    }
    return found
  }
}
