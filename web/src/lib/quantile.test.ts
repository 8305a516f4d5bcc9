import { describe, expect, it } from 'vitest'

import { forward, inverse, quantileScale } from './quantile'

const of = (...values: number[]) => Float64Array.from(values)

describe('a quantile scale', () => {
  it('puts the quantiles at equal distances and is linear between', () => {
    const scale = quantileScale(of(0, 1, 2, 3, 100), 2)
    expect([0, 2, 51, 100].map((value) => forward(scale, value))).toEqual([0, 0.5, 0.75, 1])
  })

  it('is the empirical distribution function from k = n on', () => {
    const values = of(5, -3, 8, 0.5, 2)
    for (const k of [5, 6, 1000]) {
      const scale = quantileScale(values, k)
      expect([...values].sort((a, b) => a - b).map((value) => forward(scale, value))).toEqual([0, 0.25, 0.5, 0.75, 1])
    }
  })

  it('is linear for k = 1 and clamped beyond the ends', () => {
    const scale = quantileScale(of(2, 3, 12), 1)
    expect([-5, 2, 7, 12, 90].map((value) => forward(scale, value))).toEqual([0, 0, 0.5, 1, 1])
  })

  it('gives equal values the middle of their places, and keeps the ends, as in Python', () => {
    const scale = quantileScale(of(0, 0, 0, 5, 7, 7, 7, 9, 9), 100)
    expect([0, 5, 7, 9].map((value) => forward(scale, value))).toEqual([0, 3 / 8, 5 / 8, 1])
    expect(forward(quantileScale(of(4, 4, 4), 100), 4)).toBe(0.5)
  })

  it('can be undone and keeps order', () => {
    const values = Float64Array.from({ length: 300 }, (_, i) => Math.tan(i * 1.7))
    const scale = quantileScale(values, 37)
    const sorted = values.slice().sort()
    for (let i = 0; i < sorted.length; i++) {
      expect(inverse(scale, forward(scale, sorted[i]))).toBeCloseTo(sorted[i], 6)
      if (i) expect(forward(scale, sorted[i])).toBeGreaterThanOrEqual(forward(scale, sorted[i - 1]))
    }
  })
})
