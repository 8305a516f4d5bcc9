import { describe, expect, it } from 'vitest'

import { readPassages } from './passages'

describe('passages', () => {
  it('are cut around the word', () => {
    const text = new TextEncoder().encode('a höt teaTea time')
    const array = (data: Int32Array | Uint8Array) => ({ shape: [data.length], data })
    const passages = readPassages({
      arrays: {
        context_counts: array(Int32Array.from([40, 0])),
        context_starts: array(Int32Array.from([0, 2, 2])),
        context_ends: array(Int32Array.from([10, 18])),
        context_words: array(Int32Array.from([6, 9, 0, 3])),
        context_text: array(text),
      },
    })!
    expect(passages.of(0)).toEqual([
      { before: 'a höt ', word: 'tea', after: '' },
      { before: '', word: 'Tea', after: ' time' },
    ])
    expect(passages.of(1)).toEqual([])
    expect(Array.from(passages.counts)).toEqual([40, 0])
  })

  it('are not there where a view brings none', () => {
    expect(readPassages({ arrays: {} })).toBeNull()
  })
})
