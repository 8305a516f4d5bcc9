import { expect, it } from 'vitest'

import { analysisIn, otherSources, sourceOf } from './rooms'

it('a form of one source shows neither the others nor what belongs to them alone', () => {
  const sources = analysisIn('ellipses')!.sources!
  expect(otherSources(sources, 'gaussians')).toEqual(expect.arrayContaining(['corpus', 'words', 'table', 'by']))
  expect(otherSources(sources, 'table')).not.toContain('by')
  expect(otherSources(sources, 'corpus')).toEqual(['table', 'by', 'columns', 'standardise', 'missing', 'gaussians'])
  expect(otherSources([], '')).toEqual([])
  expect([sourceOf(sources, { corpus: 1, table: 1 }), sourceOf(sources, {}), sourceOf([], {})]).toEqual(['table', 'corpus', ''])
})

it('what heads of a small model do is asked of as many tokens as other rooms read', () => {
  const { carries } = analysisIn('effects')!
  expect(carries!({ model: 'default' }, null)).toEqual({ model: 'default', first_tokens: 512 })
  expect(carries!({ model: 'decoder' }, null)).toEqual({ model: 'decoder' })
})
