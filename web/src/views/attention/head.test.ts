import { expect, it } from 'vitest'

import { isCausal, linked, overQueries, shownTokens, strongest, tokenText, weightText, withFirst, type Head } from './head'

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
