import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { countedIn, readScatter } from './model'
import { crossOf, strandLook } from './partners'
import { quieted, rowColour, style } from './style'
import { amongNote, byTrueDistance, damageAround, damageOf, fatesOf, sketchedDistances, tellsApart, truthNote, truthScale } from './truth'

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

describe('what is counted', () => {
  const counted = (properties: object) => countedIn(readScatter({ ...view, properties: { ...view.properties, ...properties } }))

  it('are items, tokens, or occurrences of words', () => {
    expect(counted({})).toBe('5 items')
    expect(counted({ labels: ['a', 'b', 'a', 'a', 'b'], names: ['a 1', 'b 1', 'a 2', 'a 3', 'b 2'] })).toBe('5 occurrences of 2 words')
    const columns = [{ name: 'position', type: 'number' as const, array: 'place' }]
    const tokens = {
      ...view,
      properties: { ...view.properties, columns, names: ['a', 'b', 'c', 'd', 'e'] },
      arrays: { ...view.arrays, place: { shape: [5], data: Float32Array.of(0, 1, 2, 3, 4) } },
    }
    expect(countedIn(readScatter(tokens))).toBe('5 tokens')
  })

  it('are told apart where neighbours are counted by distance and partners by weight', () => {
    const kept = { type: 'number' as const, name: 'kept', values: new Float32Array(5), low: 0, high: 0 }
    expect(tellsApart(scatter)).toBe(false)
    expect(tellsApart({ ...scatter, columns: [kept] })).toBe(true)
    expect(tellsApart({ truth: { ...scatter.truth!, byWeight: true }, columns: [kept] })).toBe(false)
  })
})

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
    expect(amongNote(truth)).toBe('')
    const carried = { ...truth, among: { own: Int32Array.of(0, 0, 0, 1, 1), sought: new Int32Array(5), place: null } }
    expect(amongNote(carried)).toMatch(/^Counted among the 3 items that carry the map/)
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
    expect(truthNote(scatter.truth!)).toMatch(/^The 3 nearest .* grey\.$/)
  })

  it('are those of all points where the map carries its vectors, the nearest on top', () => {
    // a to e at 0, 2, 8, 6, 3 on the first axis of steps of a half, and 0 on the second
    const sketch = {
      bytes: Uint8Array.of(0, 9, 4, 9, 16, 9, 12, 9, 6, 9),
      dims: 2,
      scales: Float32Array.of(0.5, 1),
      rest: new Float32Array(5),
      error: 0.0042,
    }
    expect(Array.from(sketchedDistances(sketch, 1))).toEqual([2, 0, 6, 4, 1])
    expect(sketchedDistances({ ...sketch, rest: Float32Array.of(3, 2, 0, 0, 0) }, 1)[0]).toBe(3)
    const truth = { ...scatter.truth!, sketch }
    const quiet = quieted(plain, Uint8Array.of(0, 1, 0, 0, 0), 'light', null)
    expect(quiet.quiet).not.toBeNull()
    const styled = byTrueDistance(quiet, { ...scatter, truth }, 1, 'light')
    expect(styled.quiet).toBeNull()
    expect(Array.from(styled.order)).toEqual([2, 3, 0, 4, 1])
    const shades = [0, 1, 2, 3, 4].map((row) => styled.colours.slice(4 * row, 4 * row + 4).join())
    expect(new Set(shades).size).toBe(4)
    expect(shades[4]).toBe(shades[1])
    expect(Array.from(styled.emphasis!)).toEqual([1, 1, 1, 0, 1])
    expect(truthNote(truth)).toContain('right to 0.5 %')
  })
})

describe('what the layout tore and glued', () => {
  it('is read off continuity and trustworthiness, nothing where a point was not judged', () => {
    const number = (name: string, ...values: number[]) =>
      ({ type: 'number', name, score: name, values: Float32Array.from(values), low: 0, high: 1 }) as const
    const columns = [number('continuity', 1, 0.75, 0.4, NaN, 1), number('trustworthiness', 0.5, 1, 1, 1, 1)]
    expect(damageOf({ ...scatter, columns })).toEqual({ torn: Float32Array.of(0, 0.5, 1, NaN, 0), glued: Float32Array.of(1, 0, 0, 0, 0) })
    expect(damageOf(scatter)).toBeNull()
  })

  it('is the mean over the points around: a crowd is no worse than a few, and points not judged do not count', () => {
    const damage = { torn: Float32Array.of(0.5, 0.5, 0.5, NaN), glued: Float32Array.of(0, 0, 0, 1) }
    const place = (row: number): [number, number] => (row === 0 ? [5, 5] : [25, 5])
    const { weight, torn, glued } = damageAround(damage, Uint32Array.of(0, 1, 2, 3), 1, 40, 10, place)
    const at = (x: number) => 5 * 40 + x
    expect(torn[at(5)] / weight[at(5)]).toBeCloseTo(0.5)
    expect(torn[at(25)] / weight[at(25)]).toBeCloseTo(0.5)
    expect([glued[at(25)], weight[at(15)]]).toEqual([0, 0])
  })
})

describe('the scale of true distance', () => {
  it('has the measure and both ends, in the colours of the points', () => {
    const named = { ...scatter, settings: [['metric', 'cosine']] as [string, string][] }
    const scale = truthScale(named, 0, 'light')!
    expect(scale.measure).toBe('cosine distance in the data from a')
    expect([scale.near, scale.far]).toEqual(['0.500', '2'])
    const plain = style(scatter, { column: null, theme: 'light', hidden: new Set(), emphasis: null, near: null })
    const shown = byTrueDistance(plain, scatter, 0, 'light')
    expect([rowColour(shown, 1), rowColour(shown, 2)]).toEqual([scale.colours[0], scale.colours.at(-1)])
    expect(truthScale(scatter, 4, 'light')).toBeNull()
  })
})
