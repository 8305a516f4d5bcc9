import { expect, it } from 'vitest'

import { keptVectors, readVector, vectorsOf } from './vectors'

it('reads pasted numbers in any dress', () => {
  expect(readVector('0.5 -1.25, 3e-2')).toEqual({ name: 'mine', numbers: [0.5, -1.25, 0.03] })
  expect(readVector('tea 1 2')).toEqual({ name: 'tea', numbers: [1, 2] })
  expect(readVector('[1, 2,\n 3]')).toEqual({ name: 'mine', numbers: [1, 2, 3] })
})

it('says what it cannot read', () => {
  expect(readVector('  ')).toContain('numbers')
  expect(readVector('tea 1 two 3')).toContain('“two”')
})

it('keeps vectors in the address', () => {
  const vectors = { mine: [0.5, -1.25], 'a:b': [1e-7, 12345.678] }
  expect(vectorsOf(keptVectors(vectors))).toEqual({ mine: [0.5, -1.25], 'a:b': [1e-7, 12345.7] })
  expect(vectorsOf(null)).toEqual({})
  expect(vectorsOf('broken:1,x;good:2')).toEqual({ good: [2] })
  expect(keptVectors({})).toBe(null)
})
