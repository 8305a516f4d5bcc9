import { expect, it } from 'vitest'

import type { About } from './api'
import { atlasSeconds, beginningOf, choicesOf, nameOf, quoted, soonRestarts, textNotes } from './formInput'

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
  expect(nameOf('  The cat sat on the mat. ')).toBe('“The cat sat on …”')
  expect(nameOf('The cat sat on')).toBe('“The cat sat on”')
  expect(nameOf('Donaudampfschifffahrtsgesellschaft')).toHaveLength(30)
  expect(nameOf('and/or')).toBe('“and⁄or”')
  expect(nameOf(' ')).toBe('text')
  expect(['harbour', nameOf('The cat sat')].map(quoted)).toEqual(['“harbour”', '“The cat sat”'])
  expect(nameOf('The capital of the country of Italy is', 60)).toBe('“The capital of the country of Italy is”')
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

it('a text is told about before it is computed', () => {
  const plain = { tokens: 120, special: 2, most: 510, unknown: [], unknown_tokens: 0, split: [], split_words: 0, parts: [], sentences: 8 }
  expect(textNotes(plain, true)).toEqual(['120 tokens.'])
  expect(textNotes({ ...plain, tokens: 3424 }, true)[0]).toContain('the first 510 of 3,424 will be read')
  expect(textNotes({ ...plain, tokens: 3424 }, false)).toEqual(['3,424 tokens.']) // read sentence by sentence
  expect(textNotes({ ...plain, tokens: 3 }, true)[1]).toContain('every head looks local')
  expect(textNotes({ ...plain, unknown: ['☃'], unknown_tokens: 1, split: ['lamplighter'], split_words: 2 }, true).slice(1)).toEqual([
    'One token is unknown to the model, which reads the same mark for each: “☃”.',
    '2 words are split into four pieces or more: “lamplighter”.',
  ])
})

it('an atlas takes longer for more tokens, heads and restarts', () => {
  expect(atlasSeconds(200, 72, 8)).toBeCloseTo(10.5)
  expect(atlasSeconds(400, 72, 8)).toBeCloseTo(37.5)
})
