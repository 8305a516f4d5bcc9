import { expect, it } from 'vitest'

import { analysisIn, otherSources, sourceOf, type Along } from './rooms'

const ALONG: Along = { head: null, pinned: null, token: null, size: { layers: 6, heads: 12 } }

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
  expect(carries!({ model: 'default' }, ALONG)).toEqual({ model: 'default', first_tokens: 512, how: 'exact' })
  expect(carries!({ model: 'decoder' }, ALONG)).toEqual({ model: 'decoder' })
})

it('asks why of the token that is followed, and reads as far as that', () => {
  const { carries } = analysisIn('why')!
  expect(carries!({ model: 'default', layer: 1, head: 8 }, { ...ALONG, token: 26 })).toEqual({
    model: 'default',
    layer: 1,
    head: 8,
    first_tokens: 512,
    query: 26,
  })
  expect(carries!({ model: 'decoder' }, { ...ALONG, token: 26 })).toEqual({ model: 'decoder', query: 26 })
  expect(carries!({ model: 'decoder' }, { ...ALONG, token: 90 })).toEqual({ model: 'decoder', first_tokens: 91, query: 90 })
  expect(carries!({ model: 'decoder' }, ALONG)).toEqual({ model: 'decoder' })
})

it('compare begins with the head that is carried: beside the pinned one, or its neighbour; edit takes it away', () => {
  const compare = analysisIn('compare')!.carries!
  const at = { ...ALONG, head: { layer: 1, head: 8 } }
  const found = { model: 'default', what: 'head', layer: 1, head: 8 }
  expect(compare({ model: 'default', layer: 1, head: 8 }, at)).toEqual({ ...found, other_layer: 1, other_head: 7 })
  expect(compare({ model: 'default' }, { ...at, pinned: '2.3' })).toEqual({ ...found, other_layer: 2, other_head: 3 })
  expect(compare({ model: 'default' }, { ...at, head: { layer: 4, head: 0 } })).toMatchObject({ other_layer: 4, other_head: 1 })
  expect(compare({ model: 'default' }, ALONG)).toEqual({ model: 'default', what: 'hidden', layer: 1, other_layer: 6 })
  const edit = analysisIn('edit')!.carries!
  expect(edit({ model: 'decoder' }, { ...ALONG, head: { layer: 3, head: 4 } })).toEqual({ model: 'decoder', edits: ['head 3.4 mean'] })
  expect(edit({ model: 'decoder' }, ALONG)).toEqual({ model: 'decoder', edits: ['head 16.0 mean'] })
})
