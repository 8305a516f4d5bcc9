import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import {
  arranged,
  clearQuery,
  fatedLinks,
  hasValues,
  links,
  linesOf,
  partner,
  positionsTold,
  sentenceLines,
  sentenceRows,
  sizedBy,
  without,
  withSides,
  type Lines,
  type Panel,
  type QueryKeys,
} from './model'

// Two sentences of two tokens: queries 0 to 3, keys 4 to 7.
const all = {
  queries: 4,
  count: 8,
  sentence: Int32Array.from([0, 0, 1, 1, 0, 0, 1, 1]),
  position: Int32Array.from([0, 1, 0, 1, 0, 1, 0, 1]),
} as QueryKeys
const lines: Lines = {
  each: 2,
  partners: Int32Array.from([5, 4, 5, -1, 6, 7, 7, 6, 0, -1, 1, 0, 2, 3, 3, 2]),
  weights: Float32Array.from([0.75, 0.25, 1, 0, 0.5, 0.5, 0.875, 0.125, 0.25, 0, 1, 0.75, 0.5, 0.125, 0.875, 0.5]),
  aggregate: { values: new Float32Array(4), size: 2 },
}

describe('lines', () => {
  it('lead from a query to its strongest keys', () => {
    expect(links(lines, 0)).toEqual([
      { row: 5, weight: 0.75 },
      { row: 4, weight: 0.25 },
    ])
    expect(links(lines, 1)).toEqual([{ row: 5, weight: 1 }])
  })

  it('lead from a key to the queries that give it most', () => {
    expect(links(lines, 5).map(({ row }) => row)).toEqual([1, 0])
    expect(links(lines, 4)).toEqual([{ row: 0, weight: 0.25 }])
  })
})

it('the table of positions says what was read, and how much of it is shown', () => {
  const read = (sentences: number, isWhole: boolean, longest: number) =>
    positionsTold({ ...all, sentence: Int32Array.from({ length: sentences }, (_, i) => i), isWhole, longest } as QueryKeys, 24)
  expect(read(1, true, 141)).toEqual({
    title: 'The whole text',
    told: 'The first 24 of 141 positions. Weight from position (down) to position (across), special tokens included.',
  })
  expect(read(9, false, 30).title).toBe('All sentences together')
  expect(read(9, false, 30).told).toMatch(/^The first 24 of 30 positions, as many as the longest sentence has\. Mean weight/)
  expect(read(9, false, 24).told).toMatch(/^Mean weight/)
})

it('lines can be weighed by the lengths of values, where these are known', async () => {
  const array = (data: number[], shape: number[]) => async () => ({ data: Int32Array.from(data), shape })
  const later = {
    partners_1_2: array([4, 5], [1, 2]),
    weights_1_2: array([255, 0], [1, 2]),
    valued_partners_1_2: array([5, 4], [1, 2]),
    valued_weights_1_2: array([204, 102], [1, 2]),
    aggregate_1_2: array([1], [1, 1]),
  }
  const view = { later, properties: { steps: 255 } } as unknown as View
  const panel = { layer: 1, head: 2 } as Panel
  expect(hasValues(view)).toBe(true)
  expect((await linesOf(view, panel)).partners).toEqual(Int32Array.from([4, 5]))
  const read = await linesOf(view, panel, true)
  expect(read.partners).toEqual(Int32Array.from([5, 4]))
  expect(read.weights[0]).toBeCloseTo(0.64)
  expect(hasValues({ later: { partners_1_2: later.partners_1_2 } } as unknown as View)).toBe(false)
})

it('lines of a sentence are the two strongest keys of each of its queries, whichever side is chosen', () => {
  const wanted = [
    { from: 2, row: 6, weight: 0.5 },
    { from: 2, row: 7, weight: 0.5 },
    { from: 3, row: 7, weight: 0.875 },
    { from: 3, row: 6, weight: 0.125 },
  ]
  expect(sentenceLines(all, lines, 3)).toEqual(wanted)
  expect(sentenceLines(all, lines, 6)).toEqual(wanted)
})

it('dots are sized by norm, and rows can be left out without another map', () => {
  const style = {
    colours: new Uint8Array(12),
    shapes: new Uint8Array(3),
    sizes: new Float32Array(3).fill(1),
    order: Uint32Array.from([2, 1, 0]),
    visible: new Uint8Array(3).fill(1),
  }
  expect([...sizedBy(style, Float32Array.from([1, 2, 3])).sizes]).toEqual([0.5, 1.25, 2])
  expect([...sizedBy(style, Float32Array.from([2, 2, 2])).sizes]).toEqual([1.25, 1.25, 1.25])
  const shown = without(style, (row) => row === 1)
  expect([...shown.order]).toEqual([2, 0])
  expect([...shown.visible]).toEqual([1, 0, 1])
})

describe('the beginning', () => {
  it('is the query that attends most to another word', () => {
    const labels = ['the', 'cat', 'sat', '.', 'the', 'cat', 'sat', '.']
    expect(clearQuery({ ...all, labels }, lines)).toBe(0) // 1 → 5 is itself, 3 is no word
    expect(clearQuery({ ...all, labels: labels.map(() => '.') }, lines)).toBeNull()
  })
})

describe('sides', () => {
  it('a sentence is that of the same side', () => {
    expect(sentenceRows(all, 3)).toEqual([2, 3])
    expect(sentenceRows(all, 4)).toEqual([4, 5])
  })

  it('a token has a place on both', () => {
    expect(partner(all, 1)).toBe(5)
    expect(partner(all, 6)).toBe(2)
  })

  it('queries are circles and keys diamonds, drawn by turns', () => {
    const style = {
      colours: new Uint8Array(32),
      shapes: new Uint8Array(8),
      sizes: new Float32Array(8),
      order: Uint32Array.from([0, 1, 2, 3, 4, 5, 6, 7]),
      visible: new Uint8Array(8).fill(1),
    }
    const both = withSides(style, 4, 'both')
    expect([...both.shapes]).toEqual([0, 0, 0, 0, 2, 2, 2, 2])
    expect([...both.order]).toEqual([0, 4, 1, 5, 2, 6, 3, 7])
    const keys = withSides(style, 4, 'keys')
    expect([...keys.visible]).toEqual([0, 0, 0, 0, 1, 1, 1, 1])
    expect([...keys.order]).toEqual([4, 5, 6, 7])
    expect([...style.visible]).toEqual(new Array(8).fill(1))
  })
})

it('panels are sorted by a figure, those without last', () => {
  const panels = [
    { row: 0, scores: { order: 0.1 } },
    { row: 1, scores: { order: null } },
    { row: 2, scores: { order: 0.9 } },
  ] as unknown as Panel[]
  expect(arranged(panels, 'order').map(({ row }) => row)).toEqual([2, 0, 1])
  expect(arranged(panels, 'place')).toBe(panels)
})

describe('fates of links', () => {
  it('has no row twice where a token sees fewer keys than are counted', () => {
    const lines = {
      each: 5,
      partners: Int32Array.of(7, 8, 9, -1, -1),
      weights: Float32Array.of(0.6, 0.3, 0.1, 0, 0),
      aggregate: { values: new Float32Array(), size: 0 },
    }
    // two are counted: the third lies near and is not among them
    const fates = { kept: [{ row: 7 }], missing: [{ row: 8 }], false: [{ row: 9 }] }
    const { near, strangers } = fatedLinks(lines, 0, fates)
    expect([...near, ...strangers].map(({ row, fate }) => [row, fate])).toEqual([
      [7, 'kept'],
      [8, 'missing'],
      [9, 'false'],
    ])
  })
})
