import { expect, test } from 'vitest'

import { joined } from '../views/attention/head'
import { joinWords } from './words'

const words = [{ tokens: [1, 2], text: 'unseen' }]

test('the pieces of a word stand in one place, and the others keep theirs', () => {
  const whole = joinWords(['[CLS]', 'un', '##seen', 'lamp'], words)
  expect(whole.labels).toEqual(['[CLS]', 'unseen', 'lamp'])
  expect(whole.groups).toEqual([[0], [1, 2], [3]])
  expect([...whole.of]).toEqual([0, 1, 1, 2])
  expect(joinWords(['␣a', '␣␣'], []).labels).toEqual(['a', '␣␣'])
})

test('weights of a joined word are summed over its keys and averaged over its queries, so that rows still sum to 1', () => {
  const labels = ['un', '##seen', 'lamp']
  const head = {
    weights: Float32Array.from([0.2, 0.4, 0.4, 0.4, 0.4, 0.2, 0.5, 0.5, 0]),
    queries: labels,
    keys: labels,
    specialQueries: new Uint8Array(3),
    specialKeys: Uint8Array.from([0, 0, 1]),
    raw: {},
  }
  const whole = joinWords(labels, [{ tokens: [0, 1], text: 'unseen' }])
  const merged = joined(head, whole, whole)
  ;[0.7, 0.3, 1, 0].forEach((weight, i) => expect(merged.weights[i]).toBeCloseTo(weight, 6))
  expect(merged.queries).toEqual(['unseen', 'lamp'])
  expect([...merged.specialKeys]).toEqual([0, 1])
})
