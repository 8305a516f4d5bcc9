import { expect, it } from 'vitest'

import { rowsIn } from './viewRows'

const view = (kind: string, properties: object) => ({ kind, properties, arrays: {} }) as never

it('rows are the tokens or words of a view, and never its heads or several texts', () => {
  expect(rowsIn(view('scatter', { labels: ['bank'] }))).toEqual({ labels: ['bank'], positions: null })
  expect(rowsIn(view('attention', { keys: ['the', 'bank'] }))).toEqual({ labels: ['the', 'bank'], positions: [0, 1] })
  expect(rowsIn(view('survey', { tokens: [['the', 'bank'], ['a']] }))).toBeNull()
  expect(rowsIn(view('effects', { labels: ['2.11'] }))).toBeNull()
  expect(rowsIn(view('boxes', {}))).toBeNull()
})
