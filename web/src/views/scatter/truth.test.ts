import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { readScatter } from './model'
import { crossOf, strandLook } from './partners'
import { style } from './style'
import { byTrueDistance, damageOf, fatesOf } from './truth'

/** Five items on a line. In the data the first is near to the second and the last. */
const view: View = {
  kind: 'scatter',
  properties: { labels: ['a', 'b', 'c', 'd', 'e'], columns: [], k: 2 },
  arrays: {
    xy: { shape: [5, 2], data: Float32Array.of(0, 0, 1, 0, 2, 0, 3, 0, 9, 0) },
    true_rows: { shape: [5, 3], data: Int32Array.of(1, 4, 2, 0, 2, 4, 1, 3, 0, 2, 1, 0, -1, -1, -1) },
    true_distances: { shape: [5, 3], data: Float32Array.of(0.5, 1, 2, 0.5, 1, 2, 1, 1, 2, 1, 2, 3, NaN, NaN, NaN) },
  },
  later: {},
}
const scatter = readScatter(view)

describe('neighbours of an item', () => {
  it('are kept, missing or false, and say where they went', () => {
    expect(fatesOf(scatter, 0)).toEqual({
      kept: [{ row: 1, fate: 'kept', value: 0.5, place: 0 }],
      missing: [{ row: 4, fate: 'missing', value: 1, place: 4 }],
      false: [{ row: 2, fate: 'false', value: 2, place: 3 }],
    })
  })

  it('have no place in the data beyond what the map knows', () => {
    const few = { ...scatter, truth: { ...scatter.truth!, stored: 2, rows: Int32Array.of(1, 4), values: Float32Array.of(0.5, 1) } }
    expect(fatesOf(few, 0)!.false).toEqual([{ row: 2, fate: 'false', value: NaN, place: 0 }])
  })

  it('are not known of items without any, nor of maps that do not carry them', () => {
    expect(fatesOf(scatter, 4)).toBeNull()
    expect(fatesOf({ ...scatter, truth: null }, 0)).toBeNull()
  })

  it('are looked for among those who may be, half of them at most', () => {
    // c and d are queries of one sentence, a and b its keys; e is the key of another
    const among = { own: Int32Array.of(1, 1, 0, 0, 3), sought: Int32Array.of(0, 0, 1, 1, 2), place: null }
    const truth = { ...scatter.truth!, rows: Int32Array.of(3, 2, -1, 2, 3, -1, 0, 1, -1, 0, 1, -1, -1, -1, -1), among }
    const found = fatesOf({ ...scatter, truth }, 2)!
    expect(found.missing.map(({ row, place }) => [row, place])).toEqual([[0, 2]])
    expect(found.false.map(({ row }) => row)).toEqual([1])
    const causal = { ...truth, among: { ...among, place: Int32Array.of(0, 5, 3, 1, 0) } }
    expect(fatesOf({ ...scatter, truth: causal }, 2)!.kept.map(({ row }) => row)).toEqual([0])
  })

  it('are drawn solid, dashed or crossed out', () => {
    expect(strandLook({ fate: 'kept' })).toEqual({ dashed: false, leads: true, crossed: false })
    expect(strandLook({ fate: 'missing' })).toEqual({ dashed: true, leads: false, crossed: false })
    expect(strandLook({ fate: 'false' })).toEqual({ dashed: false, leads: false, crossed: true })
    const arc = { fate: 'false', from: [0, 0], bend: [15, 0], to: [30, 0], width: 1, alpha: 1 } as const
    expect(crossOf(arc, 3)[0]).toEqual([
      [17, -3],
      [23, 3],
    ])
  })
})

describe('colours by true distance', () => {
  const plain = style(scatter, { column: null, theme: 'light', hidden: new Set(), emphasis: null, near: null })
  const colour = (row: number) => Array.from(byTrueDistance(plain, scatter, 0, 'light').colours.slice(4 * row, 4 * row + 4))

  it('are those of nearness where it is known and grey beyond', () => {
    expect(colour(3)[3]).toBeLessThan(128)
    expect(new Set([1, 4, 2].map((row) => colour(row).join())).size).toBe(3)
    expect(colour(1)).toEqual(colour(0))
    expect(Array.from(byTrueDistance(plain, scatter, 0, 'light').order)).toEqual([3, 2, 4, 1, 0])
  })

  it('of 100,000 points, and what became of neighbours, take less than 50 ms', () => {
    const count = 100_000
    const at = Float32Array.from({ length: 2 * count }, (_, i) => Math.sin(i * 12.9898) * 43758.5453)
    const rows = Int32Array.from({ length: 10 * count }, (_, i) => (i * 7919 + 1) % count)
    const truth = { k: 10, stored: 10, rows, values: Float32Array.from(rows, (_, i) => i % 10), byWeight: false, among: null }
    const many = { ...scatter, count, at, truth, labels: [] as string[] }
    const dressed = {
      ...plain,
      colours: new Uint8Array(4 * count),
      order: Uint32Array.from({ length: count }, (_, i) => i),
      visible: new Uint8Array(count).fill(1),
    }
    fatesOf(many, 5)
    byTrueDistance(dressed, many, 5, 'light')
    const times = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((row) => {
      const begun = performance.now()
      fatesOf(many, row)
      byTrueDistance(dressed, many, row, 'light')
      return performance.now() - begun
    })
    expect(Math.min(...times)).toBeLessThan(50)
  })
})

describe('what the layout tore and glued', () => {
  it('is read off continuity and trustworthiness, nothing where a point was not judged', () => {
    const number = (name: string, ...values: number[]) =>
      ({ type: 'number', name, score: name, values: Float32Array.from(values), low: 0, high: 1 }) as const
    const columns = [number('continuity', 1, 0.75, 0.4, NaN, 1), number('trustworthiness', 0.5, 1, 1, 1, 1)]
    expect(damageOf({ ...scatter, columns })).toEqual({ torn: Float32Array.of(0, 0.5, 1, 0, 0), glued: Float32Array.of(1, 0, 0, 0, 0) })
    expect(damageOf(scatter)).toBeNull()
  })
})
