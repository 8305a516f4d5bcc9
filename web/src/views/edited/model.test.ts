import { expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { isBeyond, readEdited, strongest } from './model'

const array = (...values: number[]) => ({ shape: [values.length], data: new Float32Array(values) })
const view = (arrays: View['arrays']): View => ({
  kind: 'edited',
  properties: {
    title: 'Edited',
    subtitle: '',
    measure: 'KL',
    others_name: '8 other heads of layer 1',
    labels: ['The', 'cat', 'sat'],
    before: ['cat', 'sat', 'on'],
    after: ['cat', 'on', 'on'],
    notes: [],
  },
  arrays,
  later: {},
})

it('reads the effect at every token beside that of others', () => {
  const model = readEdited(view({ effect: array(0, 0.5, 0.25), others_most: array(0, 1, 0.125), others_median: array(0, 0.25, 0) }))
  expect(model.most).toBe(0.5)
  expect(model.tokens.map(isBeyond)).toEqual([false, false, true])
  expect(strongest(model.tokens, 2).map(({ token, after }) => [token, after])).toEqual([
    ['cat', 'on'],
    ['sat', 'on'],
  ])
})

it('without others no token is beyond them', () => {
  const { tokens, most } = readEdited(view({ effect: array(0, 0.5, 0.25) }))
  expect([tokens.some(isBeyond), most]).toEqual([false, 0.5])
})
