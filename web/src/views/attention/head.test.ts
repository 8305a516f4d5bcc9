import { describe, expect, it } from 'vitest'

import {
  difference,
  differenceText,
  elsewhere,
  evenWeight,
  isCausal,
  largest,
  linked,
  mostDifferent,
  overQueries,
  shownTokens,
  strongest,
  tellingQuery,
  tokenText,
  weightText,
  withFirst,
  type Head,
} from './head'

const head: Head = {
  weights: Float32Array.of(0.5, 0.25, 0.25, 0, 0.75, 0.25),
  queries: ['le', 'chat'],
  keys: ['the', 'cat', '</s>'],
  specialQueries: Uint8Array.of(0, 0),
  specialKeys: Uint8Array.of(0, 0, 1),
  raw: {},
}

it('links lead from a query to keys and from queries to a key', () => {
  expect([...linked(head, 1, 'to')]).toEqual([0, 0.75, 0.25])
  expect([...linked(head, 1, 'from')]).toEqual([0.25, 0.75])
})

it('the strongest come first, nothing is left out that weighs something, hidden tokens are', () => {
  expect(strongest(linked(head, 1, 'to'), shownTokens(head.specialKeys, false), 5)).toEqual([
    { token: 1, weight: 0.75 },
    { token: 2, weight: 0.25 },
  ])
  expect(strongest(linked(head, 1, 'to'), shownTokens(head.specialKeys, true), 5)).toEqual([{ token: 1, weight: 0.75 }])
})

it('maximum and mean are taken over the shown queries', () => {
  const both = overQueries(head, Int32Array.of(0, 1))
  expect([...both.maximum]).toEqual([0.5, 0.75, 0.25])
  expect([...both.mean]).toEqual([0.25, 0.5, 0.25])
  expect([...overQueries(head, Int32Array.of(1)).maximum]).toEqual([0, 0.75, 0.25])
})

it.each([
  [0, '0'],
  [0.0001, '< 0.0005'],
  [0.01234, '0.0123'],
  [0.5, '0.500'],
  [1, '1.000'],
])('a weight of %d reads %s', (weight, text) => {
  expect(weightText(weight)).toBe(text)
})

it('white space is made visible', () => {
  expect(tokenText('\n')).toBe('⏎')
  expect(tokenText('  ')).toBe('␣␣')
  expect(tokenText('')).toBe('␣')
  expect(tokenText(' cat')).toBe(' cat')
})

it('a decoder is told by weights that lead to what came before alone, and its first token can be hidden', () => {
  const of = (...weights: number[]): Head => ({ ...head, keys: head.queries, weights: Float32Array.from(weights) })
  expect(isCausal(of(1, 0, 0.4, 0.6))).toBe(true)
  expect(isCausal(of(0.9, 0.1, 0.4, 0.6))).toBe(false)
  expect([...withFirst(Uint8Array.of(0, 0, 1))]).toEqual([1, 0, 1])
})

it('the query to begin with is the word whose weight on another word is largest', () => {
  const words = ['[CLS]', 'boat', '.', 'bank']
  const weights = new Float32Array(16)
  weights[3 * 4 + 0] = 0.95 // a special token is no word
  weights[2 * 4 + 1] = 0.9 // nor is a full stop
  weights[3 * 4 + 1] = 0.4
  weights[1 * 4 + 1] = 0.8 // nor is itself another
  const special = Uint8Array.of(1, 0, 0, 0)
  expect(tellingQuery({ weights, queries: words, keys: words, specialQueries: special, specialKeys: special, raw: {} })).toBe(3)
})

it('evenly, a query gives each key it can see the same', () => {
  expect(evenWeight(head, 0, 'to')).toBeCloseTo(1 / 3)
  expect(evenWeight(head, 2, 'from')).toBeCloseTo(1 / 3)
  const tokens = ['a', 'b', 'c']
  const special = Uint8Array.of(0, 0, 0)
  const causal: Head = {
    weights: Float32Array.of(1, 0, 0, 0.5, 0.5, 0, 0.2, 0.2, 0.6),
    ...{ queries: tokens, keys: tokens, specialQueries: special, specialKeys: special, raw: {} },
  }
  expect(evenWeight(causal, 1, 'to')).toBe(0.5)
  expect(evenWeight(causal, 1, 'from')).toBeCloseTo((1 / 2 + 1 / 3) / 2)
})

describe('two heads of the same tokens', () => {
  const of = (...weights: number[]): Head => ({
    weights: Float32Array.from(weights),
    queries: ['a', 'b'],
    keys: ['a', 'b'],
    specialQueries: new Uint8Array(2),
    specialKeys: new Uint8Array(2),
    raw: {},
  })

  it('the same heads have no difference, and those without a key in common differ wholly', () => {
    const first = of(1, 0, 0.5, 0.5)
    expect([...elsewhere(difference(first, first), 2)]).toEqual([0, 0])
    const differences = difference(first, of(0, 1, 0.25, 0.75))
    expect([...differences]).toEqual([-1, 1, -0.25, 0.25])
    expect([...elsewhere(differences, 2)]).toEqual([1, 0.25])
    expect(mostDifferent(differences, 2, 1, Int32Array.of(0, 1), 1)).toEqual([0])
    expect(largest(differences)).toBe(1)
    expect([-0.25, 0, 0.25].map(differenceText)).toEqual(['−0.250', '0', '+0.250'])
  })
})
