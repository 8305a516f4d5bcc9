import { describe, expect, it } from 'vitest'

import { Finder, folded, Link } from './link.svelte'
import { Selection } from './selection.svelte'

const TOKENS = { labels: ['[CLS]', 'the', 'cat', 'saw', 'the', 'dog'], positions: [0, 1, 2, 3, 4, 5] }
const WORDS = { labels: ['dog', 'Cat', 'tea'], positions: null }

describe('a linked selection', () => {
  it('lights the same token in another view of the text, and the word on a map of words', () => {
    const link = new Link()
    const [map, matrix, words] = [new Selection(link, TOKENS), new Selection(link, TOKENS), new Selection(link, WORDS)]
    map.set([2])
    expect([matrix.rows, matrix.focus]).toEqual([[2], 2])
    expect([words.rows, words.focus]).toEqual([[1], 1])
  })

  it('keeps one of two equal tokens apart by its place, and takes both where there is no place', () => {
    const link = new Link()
    const [map, other] = [new Selection(link, TOKENS), new Selection(link, TOKENS)]
    map.set([4])
    expect(other.rows).toEqual([4])
    link.set([{ label: 'the', position: null }], 0)
    expect([other.rows, other.focus]).toEqual([[1, 4], null])
  })

  it('takes the second of three for the second of three where a model numbers tokens differently', () => {
    const banks = { labels: ['bank', 'a', 'bank', 'of', 'Bank'], positions: [0, 1, 2, 3, 4] }
    const shifted = { labels: ['[CLS]', 'bank', 'a', 'bank', 'of', 'bank'], positions: [0, 1, 2, 3, 4, 5] }
    const twice = { labels: ['bank', 'a', 'bank'], positions: [5, 6, 7] }
    const link = new Link()
    const [here, there, fewer] = [banks, shifted, twice].map((rows) => new Selection(link, rows))
    here.set([2])
    expect([there.rows, there.focus]).toEqual([[3], 3])
    expect([fewer.rows, fewer.focus]).toEqual([[0, 2], null])
    expect(link.items).toEqual([{ label: 'bank', position: 2, nth: [2, 3] }])
  })

  it('takes the second of three among occurrences, and all of them where there are more or fewer', () => {
    const occurrences = { labels: ['river', 'bank', 'bank', 'bank'], positions: null }
    const followed = { label: 'Bank', position: 31, nth: [2, 3] as const }
    expect(new Finder(occurrences).find(followed)).toEqual([2])
    expect(new Finder(occurrences).find({ ...followed, nth: [2, 4] })).toEqual([1, 2, 3])
    expect(new Finder(occurrences).find({ label: 'bank', position: 31 })).toEqual([1, 2, 3])
  })

  it('finds a token of another text by its letters', () => {
    const finder = new Finder(TOKENS)
    expect(finder.find({ label: 'cat', position: 77 })).toEqual([2])
    expect(finder.find({ label: 'owl', position: 2 })).toEqual([])
  })

  it('gives the view where rows were chosen exactly these, even where labels repeat', () => {
    const link = new Link()
    const twice = { labels: ['a', 'a', 'b'], positions: null }
    const [here, there] = [new Selection(link, twice), new Selection(link, twice)]
    here.set([1])
    expect(here.rows).toEqual([1])
    expect(there.rows).toEqual([0, 1])
  })

  it('is cleared everywhere at once', () => {
    const link = new Link()
    const [map, words] = [new Selection(link, TOKENS), new Selection(link, WORDS)]
    map.set([2, 5])
    expect(words.rows).toEqual([1, 0])
    words.clear()
    expect([map.rows, link.items]).toEqual([[], []])
  })
})

it.each([
  ['##ing', 'ing'],
  ['Ġcat', 'cat'],
  ['▁Cat', 'cat'],
  [' cat', 'cat'],
  ['##', '##'],
  [' ', ' '],
])('%s is folded to %s', (label, bare) => {
  expect(folded(label)).toBe(bare)
})
