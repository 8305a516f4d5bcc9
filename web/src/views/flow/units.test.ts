import { expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { readLstm } from './model'
import { furthest, unitInWords, unitOf } from './units'

const array = (shape: number[], data: number[]): NamedArray => ({ shape, data: Float32Array.from(data) })
const whole = (shape: number[], data: number[]): NamedArray => ({ shape, data: Int32Array.from(data) })

/** One layer of three units at two steps: the first follows words, the second no more than shifted words do, the third stands still. */
function view(): View {
  return {
    kind: 'flow',
    properties: {
      model: 'lstm',
      tokens: ['a', 'b'],
      words: [' war', 'be', 'of'],
      layers: 1,
      operations: [],
      nodes: [{ id: 'l0.cell', label: 'cell', kind: 'vector', array: 'cell', layer: 0, column: 0, row: 0 }],
    },
    arrays: {
      cell: array([1, 2, 3], [0, 0, 0, 1, -4, 0]),
      unit_mean: array([1, 3], [0, 0, 0]),
      unit_spread: array([1, 3], [0.5, 1, 0]),
      unit_high: whole([1, 3, 2], [0, 2, 1, 2, -1, -1]),
      unit_low: whole([1, 3, 2], [1, -1, 0, 2, -1, -1]),
      unit_told: array([3, 1, 3], [0.8, 0.06, NaN, 0.05, 0.05, NaN, 0.09, 0.09, NaN]),
    },
  } as unknown as View
}

it('says after which words a unit is high and low, and how much they tell beside shifted words', () => {
  const flow = readLstm(view())
  expect(unitInWords(flow, 0, 0)).toBe(
    'Its cell is highest after “war”, “of” and lowest after “be”. The word just read explains 80.0 % of its variance; words shifted along the text explain 5.0 %.',
  )
})

it('names no words where shifted words tell as much, and nothing of a unit that stands still', () => {
  const flow = readLstm(view())
  expect(unitInWords(flow, 0, 1)).toMatch(/^The word just read does not say what it is active for/)
  expect(unitOf(flow, 0, 2)).toBe(null)
  expect(unitInWords(flow, 0, 2)).toBe('')
})

it('finds the units that are furthest from their means, each in its own spread', () => {
  expect(furthest(readLstm(view()), 1, 5)).toEqual([
    { layer: 0, dim: 1, by: -4 },
    { layer: 0, dim: 0, by: 2 },
  ])
})
