import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { readScatter } from './model'
import { arcs, farText, leftOff, partnersOf, possibleStrands, readingOrder, strandKey, strandsOf } from './partners'
import type { Fate } from './truth'

/** Four tokens on a line, one of them far off; the first asks the last. */
const view: View = {
  kind: 'scatter',
  properties: {
    labels: ['the', '␣river', '␣bank', 'x'],
    raw_tokens: { '␣river': 'Ġriver' },
    columns: [
      { name: 'position', type: 'number', array: 'column0' },
      { name: 'shown', type: 'number', array: 'column1' },
    ],
  },
  arrays: {
    xy: { shape: [4, 2], data: Float32Array.of(0, 0, 1, 0, 2, 0, 90, 0) },
    column0: { shape: [4], data: Float32Array.of(7, 3, 5, 41) },
    column1: { shape: [4], data: Float32Array.of(0.75, 1, NaN, 1) },
    asks: { shape: [4, 2], data: Int32Array.of(3, 1, 0, -1, -1, -1, 2, -1) },
    asks_weights: { shape: [4, 2], data: Float32Array.of(0.5, 0.25, 0.5, 0, 0, 0, 0.005, 0) },
    asked: { shape: [4, 2], data: Int32Array.of(1, -1, 0, -1, 3, -1, 0, -1) },
    asked_weights: { shape: [4, 2], data: Float32Array.of(0.5, 0, 0.25, 0, 0.005, 0, 0.5, 0) },
  },
  later: {},
}
const scatter = readScatter(view)

describe('partners of a token', () => {
  it('are the strongest in the weights, near or far, both ways', () => {
    expect(partnersOf(scatter, 0)).toEqual({
      asks: [
        { row: 3, weight: 0.5, near: false },
        { row: 1, weight: 0.25, near: true },
      ],
      asked: [{ row: 1, weight: 0.5, near: true }],
    })
    expect(partnersOf(scatter, 2)!.asks).toEqual([])
  })

  it('are not known of other maps', () => {
    expect(partnersOf({ ...scatter, partners: null }, 0)).toBeNull()
  })

  it('are named where they lie far and weigh something', () => {
    const { asks, asked } = partnersOf(scatter, 0)!
    expect(farText(scatter, 'asks', asks)).toBe('attends to “x” at 41, which lies far')
    expect(farText(scatter, 'asked', asked)).toBe('')
    const far = asks.map((one) => ({ ...one, near: false }))
    expect(farText(scatter, 'asked', far)).toBe('is attended to by “x” at 41 and “␣river” at 3, which lie far')
    expect(farText(scatter, 'asks', partnersOf(scatter, 3)!.asks)).toBe('')
  })

  it('leave out what the map leaves off, and say how much', () => {
    expect([0, 1, 2].map((row) => leftOff(scatter, row))).toEqual([0.25, 0, 0])
  })
})

it('lines lead to true neighbours each way that they are partners, and to false ones', () => {
  const one = (row: number, fate: Fate) => ({ row, fate, value: 1, place: 0 })
  const fates = { kept: [one(1, 'kept')], missing: [one(3, 'missing')], false: [one(2, 'false')] }
  expect(strandsOf(fates, partnersOf(scatter, 0))).toEqual([
    { row: 2, weight: 1, fate: 'false' },
    { row: 3, weight: 0.5, fate: 'missing', way: 'asks' },
    { row: 1, weight: 0.5, fate: 'kept', way: 'asked' },
    { row: 1, weight: 0.25, fate: 'kept', way: 'asks' },
  ])
  expect(strandsOf(null, partnersOf(scatter, 0))!.map(({ fate }) => fate)).toEqual(['kept', 'missing', 'kept'])
  expect(strandsOf(null, null)).toBeUndefined()
})

it('arcs of both ways between one pair are bent apart, the strongest widest', () => {
  const screen = (row: number) => [100 * row, 0] as const
  const [asks, asked] = arcs(
    0,
    [
      { row: 1, weight: 0.4, fate: 'kept', way: 'asks' },
      { row: 1, weight: 0.1, fate: 'kept', way: 'asked' },
    ],
    screen,
  )
  expect(asks.bend).toEqual([50, 10])
  expect(asked.bend).toEqual([50, -10])
  expect(asks.width).toBeGreaterThan(asked.width)
})

it('tokens are read in the order of their positions; other items have none', () => {
  expect([...readingOrder(scatter)!]).toEqual([1, 2, 0, 3])
  expect(readingOrder({ ...scatter, columns: [] })).toBeNull()
})

it('the key names the kinds of lines that are drawn, and no others', () => {
  expect(strandKey([{ fate: 'missing' }, { fate: 'false' }], true).map(({ look, words }) => [look, words])).toEqual([
    ['missing', 'strong in the weights, far here'],
    ['false', 'near here, not strong in the weights'],
  ])
  expect(strandKey([{ fate: 'kept', way: 'asks' }], true).map(({ look }) => look)).toEqual(['asks'])
  expect(strandKey([], false)).toEqual([])
})

it('room is kept for every kind of line that a click may draw', () => {
  const looks = (one: Parameters<typeof possibleStrands>[0]) => strandKey(possibleStrands(one), true).map(({ look }) => look)
  const truth = {} as NonNullable<typeof scatter.truth>
  expect(looks({ partners: null, truth: null })).toEqual([])
  expect(looks(scatter)).toEqual(['asks', 'asked', 'missing'])
  expect(looks({ partners: null, truth })).toEqual(['kept', 'missing', 'false'])
  expect(looks({ partners: scatter.partners, truth })).toEqual(['asks', 'asked', 'kept', 'missing', 'false'])
})
