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
  expect(carries!({ model: 'default' }, null, null)).toEqual({ model: 'default', first_tokens: 512 })
  expect(carries!({ model: 'decoder' }, null, null)).toEqual({ model: 'decoder' })
})

it('asks why of the token that is followed, and reads as far as that', () => {
  const { carries } = analysisIn('why')!
  expect(carries!({ model: 'default', layer: 1, head: 8 }, null, 26)).toEqual({
    model: 'default',
    layer: 1,
    head: 8,
    first_tokens: 512,
    query: 26,
  })
  expect(carries!({ model: 'decoder' }, null, 26)).toEqual({ model: 'decoder', query: 26 })
  expect(carries!({ model: 'decoder' }, null, 90)).toEqual({ model: 'decoder', first_tokens: 91, query: 90 })
  expect(carries!({ model: 'decoder' }, null, null)).toEqual({ model: 'decoder' })
})
