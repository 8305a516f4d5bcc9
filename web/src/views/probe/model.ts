import type { View } from '../../lib/view'

export const NULLS = ['majority', 'word', 'shuffled', 'control', 'untrained'] as const
export type Null = (typeof NULLS)[number]

export const NULL_WORDS: Record<Null, string> = {
  majority: 'the commonest answer, always',
  word: 'the commonest answer for the word that is read now: needs no memory',
  shuffled: 'a probe of shuffled answers',
  control: 'a probe of a made-up answer for every word: what it learns by heart',
  untrained: 'the same probe of a network that learned nothing',
}

/** One layer's answer to a question. */
export interface Row extends Record<Null, number> {
  layer: string
  accuracy: number
  low: number
  high: number
  verdict: string
  test: number
}

export interface Question {
  name: string
  about: string
  answers: string[]
  rows: Row[]
  /** Of the layers, not of the word's own vector. */
  best: Row
  /** Right by how many words ago, a line for each layer; empty where that has no meaning. */
  ago: Float32Array[]
  agoNull: Float32Array
  /** For each layer the units that answer best alone, with how often they are right. */
  units: [number, number][][]
  unitsNull: number
}

export interface ProbeModel {
  title: string
  subtitle: string
  vector: string
  layers: string[]
  ranges: string[]
  questions: Question[]
  nearest: [string, number][]
  notes: string[]
}

interface Properties extends Omit<ProbeModel, 'questions'> {
  questions: string[]
  abouts: string[]
  answers: string[][]
  verdicts: string[]
  units: [number, number][][][]
  units_null: number[]
}

export function readProbe(view: View): ProbeModel {
  const properties = view.properties as unknown as Properties
  const number = (name: string, at: number) => view.arrays[name].data[at]
  const layers = properties.layers.length
  const wide = properties.ranges.length
  const questions = properties.questions.map((name, q): Question => {
    const rows = properties.layers.map((layer, l): Row => {
      const at = q * layers + l
      const nulls = Object.fromEntries(NULLS.map((one) => [one, number(one, at)])) as Record<Null, number>
      return {
        layer,
        accuracy: number('accuracy', at),
        low: number('low', at),
        high: number('high', at),
        verdict: properties.verdicts[at],
        test: number('test', at),
        ...nulls,
      }
    })
    const ago = view.arrays['ago'].data as Float32Array
    const lines = rows.map((_, l) => ago.subarray((q * layers + l) * wide, (q * layers + l + 1) * wide))
    return {
      name,
      about: properties.abouts[q],
      answers: properties.answers[q],
      rows,
      best: rows.slice(1).reduce((a, b) => (b.accuracy > a.accuracy ? b : a)),
      ago: lines.some((line) => line.some(Number.isFinite)) ? lines : [],
      agoNull: (view.arrays['ago_null'].data as Float32Array).subarray(q * wide, (q + 1) * wide),
      units: properties.units[q],
      unitsNull: properties.units_null[q],
    }
  })
  return { ...properties, questions }
}

/** A line through the values that are there, in a box; NaN leaves a gap. */
export function linePath(values: ArrayLike<number>, width: number, height: number): string {
  const parts: string[] = []
  let going = false
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) {
      going = false
      continue
    }
    const x = values.length > 1 ? (i / (values.length - 1)) * width : width / 2
    parts.push(`${going ? 'L' : 'M'}${x.toFixed(1)} ${((1 - values[i]) * height).toFixed(1)}`)
    going = true
  }
  return parts.join('')
}

/** The area between two lines. */
export function bandPath(low: ArrayLike<number>, high: ArrayLike<number>, width: number, height: number): string {
  const point = (values: ArrayLike<number>, i: number) =>
    `${(values.length > 1 ? (i / (values.length - 1)) * width : width / 2).toFixed(1)} ${((1 - values[i]) * height).toFixed(1)}`
  const there = Array.from({ length: low.length }, (_, i) => i)
  return `M${[...there.map((i) => point(high, i)), ...there.reverse().map((i) => point(low, i))].join('L')}z`
}
