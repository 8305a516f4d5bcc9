import { describe, expect, it } from 'vitest'

import type { Lstm } from './model'
import { FORMULAS, lettersWide, pieces, sampleWords, signOf } from './signs'
import { lined } from './widget'

describe('the signs of the graph', () => {
  it('are those of the usual pictures: a learned layer is its curve, what is done unit by unit its own sign', () => {
    expect(signOf('sigmoid', true)).toEqual({ text: 'σ', learned: true })
    expect(signOf('tanh', true)).toEqual({ text: 'tanh', learned: true })
    expect(signOf('tanh', false)).toEqual({ text: 'tanh', learned: false })
    expect(signOf('product', false)).toEqual({ text: '×', learned: false })
    expect(signOf('sum', false)).toEqual({ text: '+', learned: false })
    expect(signOf('softmax', true)).toEqual({ text: 'softmax', learned: true })
  })

  it('set below the line what follows a low line, and nothing else', () => {
    expect(pieces('f × c_t−1')).toEqual([
      { text: 'f × c', below: false },
      { text: 't−1', below: true },
    ])
    const whole = pieces('f = σ(W_f x + U_f h_t−1 + b_f)')
    expect(whole.filter(({ below }) => below).map(({ text }) => text)).toEqual(['f', 'f', 't−1', 'f'])
    expect(whole.map(({ text }) => text).join('')).toBe('f = σ(Wf x + Uf ht−1 + bf)')
    expect(lettersWide('c_t−1')).toBeCloseTo(1 + 3 * 0.72)
  })

  it('leave no low line in any formula of the key', () => {
    for (const { formula } of [...FORMULAS.lstm, ...FORMULAS.gru])
      expect(
        pieces(formula)
          .map(({ text }) => text)
          .join(''),
      ).not.toContain('_')
  })
})

describe('names of boxes', () => {
  it('stand on one line where they fit, with the letter before them', () => {
    expect(lined('forget gate', 14)).toEqual(['forget gate'])
    expect(lined('forget gate', 14, 2)).toEqual(['forget gate'])
    expect(lined('forget gate', 12, 2)).toEqual(['forget', 'gate'])
  })

  it('are cut where both lines are about as long, the letter counted', () => {
    expect(lined('added to the cell', 12)).toEqual(['added to', 'the cell'])
    expect(lined('added to the cell', 12, 6)).toEqual(['added', 'to the cell'])
    expect(lined('candidate', 3)).toEqual(['candidate'])
    expect(lined('added', 12, 11)).toEqual(['', 'added'])
  })
})

describe('the words that a key shows', () => {
  it('have colours far apart, and begin with the word that was read last', () => {
    const flow = {
      words: ['a', 'b', 'c', 'd', ' '],
      tokens: ['b', 'c'],
      arrays: { word_colours: { shape: [5, 3], data: Uint8Array.from([0, 0, 0, 250, 0, 0, 10, 0, 0, 12, 0, 0, 9, 9, 9]) } },
    } as unknown as Lstm
    expect(sampleWords(flow, 2)).toEqual([
      { word: 'c', colour: 'rgb(10 0 0)' },
      { word: 'b', colour: 'rgb(250 0 0)' },
    ])
    expect(sampleWords(flow, 9).map(({ word }) => word)).toEqual(['c', 'b', 'a', 'd'])
    expect(sampleWords({ ...flow, arrays: {} }, 2)).toEqual([])
  })
})
