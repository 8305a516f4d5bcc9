import { expect, it } from 'vitest'

import { moved, zoomed } from './matrix'

it('zooming keeps what is under the pointer there', () => {
  const [from, to] = zoomed(0, 100, 0.3, 2, 100)
  expect(to - from).toBeCloseTo(50)
  expect(from + 0.3 * (to - from)).toBeCloseTo(30)
})

it('zooming never goes beyond the matrix nor below four cells', () => {
  expect(zoomed(10, 60, 0, 0.01, 100)).toEqual([0, 100])
  const [from, to] = zoomed(0, 100, 0.5, 1e6, 100)
  expect(to - from).toBeCloseTo(4)
  expect(zoomed(0, 2, 0.5, 10, 2)).toEqual([0, 2])
})

it('moving stops at the ends', () => {
  expect(moved(10, 20, -50, 100)).toEqual([0, 10])
  expect(moved(10, 20, 500, 100)).toEqual([90, 100])
  expect(moved(10, 20, 5, 100)).toEqual([15, 25])
})
