import { expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { memories } from './memory'
import { readLstm } from './model'

const array = (shape: number[], data: number[]): NamedArray => ({ shape, data: Float32Array.from(data) })
const node = (name: string, array: string, before?: string) => ({ id: `l0.${name}`, label: name, kind: 'vector', array, layer: 0, before })

/** Two units over two steps. */
function view(model: string): View {
  return {
    kind: 'flow',
    properties: {
      title: 't',
      subtitle: '',
      model,
      tokens: ['a', 'b'],
      words: [],
      layers: 1,
      alarms: [],
      quality: [],
      notes: [],
      operations: [],
      nodes: [
        node('forget', 'forget'),
        node('output', 'output'),
        node('cell_before', 'cell', 'cell_before'),
        ...['forget_product', 'remember_product'].map((name) => node(name, name)),
      ],
    },
    arrays: {
      forget: array([1, 2, 2], [0.9, 0.9, 1, 0.1]),
      output: array([1, 2, 2], [0.2, 0.3, 0.6, 0.4]),
      cell: array([1, 2, 2], [3, 4, 0, 0]),
      cell_before: array([1, 2], [0, 0]),
      forget_product: array([1, 2, 2], [0, 0, 3, 0]),
      remember_product: array([1, 2, 2], [3, 4, 0, 1]),
    },
  } as unknown as View
}

it('says what a cell keeps, what a word adds, and how many units are shown', () => {
  const flow = readLstm(view('lstm'))
  expect(memories(flow, 1)).toEqual([{ layer: 0, units: 2, kept: 0.6, keeping: 1, showing: 1, added: 0.25 }])
  expect(memories(flow, 0)[0].kept).toBeNaN()
})

it('says nothing of a GRU, which has no cell', () => {
  expect(memories(readLstm(view('gru')), 1)).toEqual([])
})
