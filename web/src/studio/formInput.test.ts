import { expect, it } from 'vitest'

import type { About } from './api'
import { beginningOf, choicesOf, nameOf, soonRestarts } from './formInput'

const ABOUT = {
  texts: [{ id: 'sample-a', name: 'a', text: 'A' }],
  vectors: [],
  lists: [{ id: 'sample-l', name: 'l', count: 2 }],
  corpora: [{ id: 'sample-c', name: 'c' }],
} as unknown as About

it('samples come before what was uploaded, and only of the kind that is wanted', () => {
  const inputs = [
    { id: 'in-1', kind: 'text' as const, name: 'mine', bytes: 1, summary: {} },
    { id: 'in-2', kind: 'words' as const, name: 'list', bytes: 1, summary: {} },
  ]
  expect(choicesOf(ABOUT, inputs, 'text').map(({ id }) => id)).toEqual(['sample-a', 'in-1'])
  expect(choicesOf(ABOUT, inputs, 'words').map(({ id }) => id)).toEqual(['sample-l', 'in-2'])
  expect(choicesOf(ABOUT, inputs, 'corpus').map(({ id }) => id)).toEqual(['sample-c'])
})

it('a typed text is called by its first words', () => {
  expect(nameOf('  The cat sat on the mat. ')).toBe('The cat sat on')
  expect(nameOf('Donaudampfschifffahrtsgesellschaft')).toHaveLength(28)
  expect(nameOf(' ')).toBe('text')
})

it('long texts and large models begin with fewer restarts', () => {
  expect(soonRestarts(300, 72)).toBe(8)
  expect(soonRestarts(900, 72)).toBe(8)
  expect(soonRestarts(2300, 72)).toBe(2)
  expect(soonRestarts(900, 270)).toBe(2)
})

it('the beginning of a text ends between words', () => {
  expect(beginningOf('  one\ntwo three ', 100)).toBe('one two three')
  expect(beginningOf('one two three', 9)).toBe('one two')
  expect(beginningOf('abcdefgh', 5)).toBe('abcde')
})
