import { expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { MARK, marksInWords, measuredAt, whyWord, wordsWithout } from './lstmWhy'
import { readLstm } from './model'

const array = (shape: number[], data: number[]): NamedArray => ({ shape, data: Float32Array.from(data) })

/** Three steps, of which the last two were measured; two next words, two units in each of two layers. */
function view(more: Record<string, NamedArray> = {}): View {
  return {
    kind: 'flow',
    properties: {
      title: 't',
      subtitle: '',
      model: 'lstm',
      tokens: ['<s>', 'the', 'united'],
      start: 'the boundary',
      words: ['states', 'people'],
      layers: 2,
      alarms: [],
      quality: [],
      notes: [],
      operations: [],
      nodes: [],
      usual: { over: 'over 9 words', strays: 2, values: 8 },
    },
    arrays: {
      cell: array([2, 3, 2], Array(12).fill(0)),
      top: array([3, 2], [0, 1, 0, 1, 0, 1]),
      top_chances: array([3, 2], [0.5, 0.1, 0.5, 0.1, 0.9, 0.05]),
      skipped: array([2, 3, 2], [0.5, 0.1, 0.5, 0.1, NaN, NaN, 0.02, 0.7, 0.6, 0.1, 0.1, 0.1]),
      skipped_first: array([2, 3], [0, 0, -1, 1, 0, 0]),
      skipped_first_chance: array([2, 3], [0.5, 0.5, NaN, 0.7, 0.6, 0.1]),
      written: array([2, 3, 2], [0.5, 0.1, 0.5, 0.1, NaN, NaN, 0.88, 0.05, 0.9, 0.05, 0.9, 0.05]),
      written_first: array([2, 3], [0, 0, -1, 0, 0, 0]),
      written_first_chance: array([2, 3], [0.5, 0.5, NaN, 0.88, 0.9, 0.9]),
      held: array([2, 3, 2], [0.5, 0.1, 0.5, 0.1, 0.5, 0.1, 0.6, 0.1, 0.88, 0.05, 0.002, 0.95]),
      held_first: array([2, 3], [0, 0, 0, 0, 0, 1]),
      held_first_chance: array([2, 3], [0.5, 0.5, 0.5, 0.6, 0.88, 0.95]),
      skipped_strays: array([2, 3], [0, 0, 0, 2, 0, 0]),
      written_strays: array([2, 3], Array(6).fill(0)),
      alone: array([2, 2], [0.5, 0.1, 0.1, 0.6]),
      alone_first: array([2], [0, 1]),
      alone_first_chance: array([2], [0.5, 0.6]),
      alone_strays: array([2], [0, 0]),
      held_strays: array([2, 3], [0, 0, 0, 0, 0, 5]),
      unit: array([2, 2], [0, 0, 3, 1]),
      unit_chance: array([2, 2], [0.5, 0.1, 0.4, 0.05]),
      unit_first: array([2, 2], [0, 0, 0, 0]),
      unit_first_chance: array([2, 2], [0.5, 0.5, 0.4, 0.9]),
      ...more,
    },
  } as unknown as View
}

it('names the word, the gates and the unit without which the next word was measured to lose its chance', () => {
  const said = whyWord(readLstm(view()), 2, 0)
  expect(said.map(({ text }) => text)).toEqual([
    '“united”, the word just read, carries most: in a text without it the chance is 2.0 %, and “people” comes first, with 70.0 %.',
    'If the cells get their mean instead of what it writes, the chance is 88.0 %: it acts through the gates that it opens and shuts, not through what it writes.',
    'Of what was read before, “the”, one word before, matters most: in a text without it the chance is 60.0 %.',
    'In a text of “united” alone the chance is 10.0 %, and “people” comes first, with 60.0 %: the rest comes from what is remembered of the words before.',
    'The forget gates of this step decide what is kept of the cells: with all of them at their means the chance would be 60.0 %.',
    'The output gates of this step decide what of the cells is let out: with all of them at their means the chance would be 0.20 %\u2009*, and “people” comes first, with 95.0 %.',
    'Unit 1 of layer 1 remembers most of it: with the cell of that one unit of 4 at its mean, the chance would be 40.0 %.',
  ])
  expect(said[6].unit).toEqual({ layer: 1, dim: 1 })
})

it('does not say that an earlier word matters and that none is needed: what is left of the text is against it', () => {
  const alone = array([2, 2], [0.5, 0.1, 0.88, 0.05])
  const alone_first = array([2], [0, 0])
  const said = whyWord(readLstm(view({ alone, alone_first })), 2, 0).map(({ text }) => text)
  expect(said.some((text) => text.includes('matters most'))).toBe(false)
  expect(said[2]).toBe(
    'In a text of “united” alone the chance is 88.0 %: the words before are not needed for it. But where “the”, one word before, is missing, the others before speak against it: in a text without it the chance is 60.0 %.',
  )
  // the same where the earlier word is the one that would be missed most
  const skipped = array([2, 3, 2], [0.5, 0.1, 0.5, 0.1, NaN, NaN, 0.7, 0.1, 0.6, 0.1, 0.1, 0.1])
  const other = whyWord(readLstm(view({ alone, alone_first, skipped })), 2, 0).map(({ text }) => text)
  expect(other[0]).toBe(said[2])
})

it('marks a run outside of what the model does only where more values stray than at ordinary steps', () => {
  const words = (strays: number) => wordsWithout(readLstm(view({ skipped_strays: array([2, 3], [0, 0, 0, strays, 0, 0]) })), 2, 0)
  expect(words(2)[0].skipped.outside).toBe(false)
  expect(words(3)[0].skipped.outside).toBe(true)
})

it('says once of all marked runs what the mark means, and nothing where none is marked', () => {
  const strays = { skipped_strays: array([2, 3], [0, 0, 0, 3, 0, 0]), alone_strays: array([2], [0, 4]) }
  const said = (more: Record<string, NamedArray>, step = 2) => {
    const flow = readLstm(view(more))
    return [whyWord(flow, step, 0), marksInWords(flow, step, whyWord(flow, step, 0), wordsWithout(flow, step, 0))] as const
  }
  const [lines, meaning] = said(strays)
  expect(lines.filter(({ text }) => text.includes(MARK))).toHaveLength(3)
  expect(lines.some(({ text }) => text.includes('outside'))).toBe(false)
  expect(meaning).toContain('up to 5 of 8 values of its cells and hidden vectors leave their usual ranges, where at most 2 do')
  expect(said({ held_strays: array([2, 3], Array(6).fill(0)), skipped_strays: array([2, 3], Array(6).fill(0)) })[1]).toBe('')
})

it('credits nothing where no removal changes the chance', () => {
  const said = whyWord(readLstm(view()), 1, 0).map(({ text }) => text)
  expect(said[0]).toBe('“the” does not carry it: in a text without it the chance is 50.0 %.')
  expect(said.at(-1)).toContain('No single unit remembers it')
})

it('says nothing of a step that was not measured, and speaks of no word before the text', () => {
  const flow = readLstm(view())
  expect(measuredAt(flow, 0)).toBe(-1)
  expect(whyWord(flow, 0, 0)).toEqual([])
  expect(wordsWithout(flow, 1, 0).map(({ step }) => step)).toEqual([1, 0])
})
