import { describe, expect, it } from 'vitest'

import { containing, outlinesOf, reach } from '../scatter/outlines'
import { areaKey } from './model'

const matrix = (long: number, short: number, angle: number): number[] => {
  const [c, s] = [Math.cos(angle), Math.sin(angle)]
  return [long ** 2 * c * c + short ** 2 * s * s, (long ** 2 - short ** 2) * c * s, long ** 2 * s * s + short ** 2 * c * c]
}

describe('outlines', () => {
  it('have the semi-axes and the angle of their matrix', () => {
    const out = outlinesOf(Float32Array.from([...matrix(3, 1, 0.5), ...matrix(2, 2, 0), NaN, NaN, NaN]))
    expect(out.long[0]).toBeCloseTo(3, 5)
    expect(out.short[0]).toBeCloseTo(1, 5)
    expect(out.angle[0]).toBeCloseTo(0.5, 5)
    expect(out.short[1]).toBeCloseTo(2, 5)
    expect(out.long[2]).toBeNaN()
    expect(reach(out, 2)).toEqual([0, 0])
  })

  it('reach as far as their farthest point', () => {
    const out = outlinesOf(Float32Array.from(matrix(3, 1, 0.5)))
    const [along, up] = reach(out, 0)
    const turns = Array.from({ length: 3600 }, (_, i) => (i * Math.PI) / 1800)
    const xs = turns.map((t) => 3 * Math.cos(t) * Math.cos(0.5) - Math.sin(t) * Math.sin(0.5))
    const ys = turns.map((t) => 3 * Math.cos(t) * Math.sin(0.5) + Math.sin(t) * Math.cos(0.5))
    expect(along).toBeCloseTo(Math.max(...xs), 4)
    expect(up).toBeCloseTo(Math.max(...ys), 4)
  })

  it('give the smallest ellipse around a place', () => {
    const out = outlinesOf(Float32Array.from([...matrix(5, 5, 0), ...matrix(4, 1, Math.PI / 2)]))
    const plane = Float32Array.from([0, 0, 1, 0])
    const all = () => true
    expect(containing(out, plane, 1, 3.5, all)).toBe(1)
    expect(containing(out, plane, -3, 0, all)).toBe(0)
    expect(containing(out, plane, 9, 9, all)).toBe(-1)
    expect(containing(out, plane, 1, 3.5, (row) => row === 0)).toBe(0)
  })
})

describe('an ellipse view', () => {
  it('has a key of areas by the smallest, the middle and the largest variance, as they are drawn', () => {
    const outlines = outlinesOf(Float32Array.from([1, 2, 3, 4].flatMap((radius) => matrix(radius, radius, 0))))
    const labels = ['a', 'b', 'c', 'd']
    expect(areaKey({ outlines }, labels, 0.5, null).map(({ label }) => label)).toEqual(['a', 'c', 'd'])
    const key = areaKey({ outlines }, labels, 0.5, Uint8Array.from([0, 0, 0, 1]))
    expect(key.map(({ label }) => label)).toEqual(['a', 'b', 'c'])
    expect(key[0].radius).toBeCloseTo(1 / 3, 5)
    // areas of circles of radius 1, 2 and 3, by κ²
    expect(key.map(({ variance }) => Math.round(variance))).toEqual([2, 8, 18])
    expect(areaKey({ outlines }, labels, null, null)).toEqual([])
    // of a short text two words, or one, stand more than once
    expect(areaKey({ outlines }, labels, 0.5, Uint8Array.from([1, 0, 1, 0])).map(({ label }) => label)).toEqual(['b', 'd'])
    expect(areaKey({ outlines }, labels, 0.5, Uint8Array.from([1, 0, 1, 1])).map(({ label }) => label)).toEqual(['b'])
    expect(areaKey({ outlines }, labels, 0.5, Uint8Array.from([1, 1, 1, 1]))).toEqual([])
  })
})
