import { percent } from './figures'
import { shownWord, vector, type Lstm } from './model'

/** What is known of a unit over the text that the model is compared with. */
export interface Unit {
  /** Words after which its cell is highest, and lowest, on average. */
  high: string[]
  low: string[]
  /** The share of its cell’s variance that the word just read explains; the mean and the largest of shifted words. */
  told: number
  chance: number
  most: number
}

/** Over the reference text: after which words a unit is high and low; null where that was not measured. */
export function unitOf(flow: Lstm, layer: number, dim: number): Unit | null {
  const [high, low, told] = ['unit_high', 'unit_low', 'unit_told'].map((name) => flow.arrays[name])
  if (!high || !low || !told) return null
  const [, units, most] = high.shape
  const words = (of: typeof high) =>
    Array.from({ length: most }, (_, i) => Number(of.data[(layer * units + dim) * most + i]))
      .filter((word) => word >= 0)
      .map((word) => shownWord(flow.words[word]))
  const share = (row: number) => Number(told.data[(row * flow.layers + layer) * units + dim])
  return Number.isFinite(share(0)) ? { high: words(high), low: words(low), told: share(0), chance: share(1), most: share(2) } : null
}

/** A unit's name in a sentence. */
export const unitName = (flow: Lstm, layer: number, dim: number) => `unit ${dim}${flow.layers > 1 ? ` of layer ${layer}` : ''}`

/** What a unit is high and low after, with how far that holds; empty where nothing is known. */
export function unitInWords(flow: Lstm, layer: number, dim: number): string {
  const unit = unitOf(flow, layer, dim)
  if (!unit) return ''
  const shares = `explains ${percent(unit.told)} of its variance; words shifted along the text explain ${percent(unit.chance)}`
  if (!(unit.told > unit.most)) return `The word just read does not say what it is active for: it ${shares}.`
  return `Its cell is highest after ${listed(unit.high)} and lowest after ${listed(unit.low)}. The word just read ${shares}.`
}

export const listed = (words: string[]) => words.map((word) => `“${word}”`).join(', ')

/** A unit whose cell is far from its mean. */
export interface Far {
  layer: number
  dim: number
  /** How far, in its own standard deviations. */
  by: number
}

/** The units whose cells are furthest from their means at a step, each in its own spread. */
export function furthest(flow: Lstm, step: number, count: number): Far[] {
  const [mean, spread] = [flow.arrays['unit_mean'], flow.arrays['unit_spread']]
  if (!mean || !spread) return []
  const all: Far[] = []
  for (let layer = 0; layer < flow.layers; layer++)
    vector(flow, `l${layer}.cell`, step).forEach((value, dim) => {
      const at = layer * mean.shape[1] + dim
      const by = (value - mean.data[at]) / spread.data[at]
      if (Number.isFinite(by)) all.push({ layer, dim, by })
    })
  return all.sort((a, b) => Math.abs(b.by) - Math.abs(a.by)).slice(0, count)
}
