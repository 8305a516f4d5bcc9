import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { bandPath, linePath, readProbe } from './model'

const numbers = ['accuracy', 'low', 'high', 'majority', 'word', 'shuffled', 'control', 'untrained', 'gain', 'selectivity', 'train', 'test']
const view = {
  kind: 'probe',
  properties: {
    title: 't',
    subtitle: '',
    vector: 'cell',
    layers: ['word', 'layer 0', 'layer 1'],
    ranges: ['1', '2'],
    questions: ['number'],
    abouts: ['whether one or many'],
    answers: [['many', 'one']],
    verdicts: ['not found', 'remembered', 'no better than from the present word'],
    units: [[[[3, 0.6]], [[4, 0.7]], [[5, 0.8]]]],
    units_null: [0.5],
    nearest: [],
    notes: [],
  },
  arrays: {
    ...Object.fromEntries(numbers.map((name) => [name, { data: Float32Array.from([0.25, 0.5, 0.75]), shape: [3] }])),
    ago: { data: Float32Array.from([NaN, NaN, 0.5, 1, 0.25, 0.5]), shape: [1, 3, 2] },
    ago_null: { data: Float32Array.from([0.5, 0.5]), shape: [1, 2] },
  },
} as unknown as View

describe('probe', () => {
  it('takes the best layer without the word’s own vector', () => {
    const { questions } = readProbe(view)
    expect(questions[0].best.layer).toBe('layer 1')
    expect(questions[0].ago).toHaveLength(3)
    expect(Array.from(questions[0].ago[1])).toEqual([0.5, 1])
  })

  it('leaves a gap where a value is missing, and draws one value alone in the middle', () => {
    expect(linePath([0, NaN, 1], 10, 10)).toBe('M0.0 10.0M10.0 0.0')
    expect(linePath([0.5], 10, 10)).toBe('M5.0 5.0')
    expect(bandPath([0, 0], [1, 1], 10, 10)).toBe('M0.0 0.0L10.0 0.0L10.0 10.0L0.0 10.0z')
  })
})
