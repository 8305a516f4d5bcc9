import { describe, expect, it } from 'vitest'

import type { View } from '../../lib/view'
import { arranged, attentionOf, bestOfRoles, described, placesOf, rank, readAtlas, storyHead, typical, type Wish } from './model'
import { numberColumn } from '../scatter/model'

const heads = [
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]
const view: View = {
  kind: 'atlas',
  properties: {
    title: 'Atlas',
    subtitle: 'tiny',
    tokens: ['[CLS]', 'a', 'b'],
    heads,
    columns: [
      { name: 'tags', label: 'Tags', meaning: '', type: 'category', array: 'score0', categories: ['sink', 'previous-token, local band'] },
      { name: 'entropy', label: 'Entropy', meaning: 'How wide.', type: 'number', array: 'score1' },
      { name: 'cluster', label: 'Cluster', meaning: '', type: 'category', array: 'score2', categories: ['x', 'y'] },
    ],
    tags: 'tags',
    token_columns: [],
    steps: 255,
    later: ['attention_0_1'],
    notes: [],
    settings: { steps: 1000 },
  },
  arrays: {
    xy: { shape: [4, 2, 2], data: Float32Array.from({ length: 16 }, (_, i) => i) },
    positions: { shape: [2], data: Int32Array.of(1, 2) },
    special: { shape: [3], data: Uint8Array.of(1, 0, 0) },
    score0: { shape: [4], data: Int32Array.of(0, 1, -1, 0) },
    score1: { shape: [4], data: Float32Array.of(2, NaN, 5, 1) },
    score2: { shape: [4], data: Int32Array.of(0, 1, 0, 1) },
  },
  later: { attention_0_1: async () => ({ shape: [3, 3], data: Uint8Array.of(255, 0, 51, 0, 0, 0, 0, 0, 0) }) },
}
const atlas = readAtlas(view)
const wish: Wish = { sort: null, descending: true, tag: null, verdict: null, kept: 0, text: '', group: null }
const names = (over: Partial<Wish>) =>
  arranged(atlas, { ...wish, ...over }).map(({ name, heads }) => [name, heads.map(({ name }) => name).join(' ')])

describe('an atlas', () => {
  it('is read with tags split and counted', () => {
    expect(atlas.heads[1].tags).toEqual(['previous-token', 'local band'])
    expect(atlas.tags).toEqual([
      ['sink', 2],
      ['local band', 1],
      ['previous-token', 1],
    ])
    expect([atlas.layers, atlas.wide]).toEqual([[0, 1], 2])
    expect([...placesOf(atlas, 1)]).toEqual([4, 5, 6, 7])
    expect(atlas.tokenColumns[0]).toMatchObject({ name: 'position', low: 1, high: 2 })
  })

  it('stands in the order of the model, or of a score with the missing last', () => {
    expect(names({})).toEqual([['', '0.0 0.1 1.0 1.1']])
    expect(names({ sort: 'entropy' })).toEqual([['', '1.0 0.0 1.1 0.1']])
    expect(names({ sort: 'entropy', descending: false })).toEqual([['', '1.1 0.0 1.0 0.1']])
  })

  it('is filtered by tag, by name and by part of a tag', () => {
    expect(names({ tag: 'sink' })).toEqual([['', '0.0 1.1']])
    expect(names({ text: '1.' })).toEqual([['', '1.0 1.1']])
    expect(names({ text: 'Previous' })).toEqual([['', '0.1']])
    expect(names({ text: 'zebra' })).toEqual([])
  })

  it('is grouped by layer, by first tag and by any category', () => {
    expect(names({ group: 'layer', sort: 'entropy' })).toEqual([
      ['Layer 0', '0.0 0.1'],
      ['Layer 1', '1.0 1.1'],
    ])
    expect(names({ group: 'tags' })).toEqual([
      ['sink', '0.0 1.1'],
      ['previous-token', '0.1'],
      ['(none)', '1.0'],
    ])
    expect(names({ group: 'cluster' })).toEqual([
      ['x', '0.0 1.0'],
      ['y', '0.1 1.1'],
    ])
  })

  it('unpacks attention as squares of its steps, and none where there is none', async () => {
    const head = await attentionOf(view, atlas, atlas.heads[1])
    expect(head!.weights[0]).toBe(1)
    expect(head!.weights[2]).toBeCloseTo(0.04)
    expect(await attentionOf(view, atlas, atlas.heads[0])).toBeNull()
  })
})

it('ranks count from the largest, and what is missing has none', () => {
  const values = Float32Array.of(2, NaN, 5, 2)
  expect([0, 1, 2, 3].map((row) => rank(values, row))).toEqual([2, null, 1, 2])
})

it('the typical value of a score is the median of the heads that have it', () => {
  const score = (name: string, ...values: number[]) => ({
    ...{ name, label: '', meaning: '' },
    column: numberColumn(name, Float32Array.from(values)),
  })
  expect(typical(score('share', 0.5, NaN, 0.125, 0.25))).toBe('median 0.250')
  expect(typical(score('interest', 0.25, 0.5, 0.125, 0.75))).toBe('median 0.375, even attention 0')
  expect(typical(score('share', 0.5, 0.25))).toBe('')
})

describe('verdicts', () => {
  const told: View = {
    ...view,
    properties: {
      ...view.properties,
      columns: [
        { name: 'interest', label: 'Focused attention', meaning: '', type: 'number', array: 'score1' },
        { name: 'kept', label: 'Kept', meaning: '', type: 'number', array: 'score3' },
        { name: 'parked', label: 'Parked', meaning: '', type: 'number', array: 'score4' },
        {
          name: 'verdict',
          label: 'Verdict',
          meaning: '',
          type: 'category',
          array: 'score5',
          categories: ['evenly spread', 'good', 'not to be read'],
        },
      ],
      tags: null,
    },
    arrays: {
      ...view.arrays,
      score3: { shape: [4], data: Float32Array.of(0.1, 0.6, 0.8, 0.3) },
      score4: { shape: [4], data: Float32Array.of(0.46, 0, 0.004, NaN) },
      score5: { shape: [4], data: Int32Array.of(0, 1, 1, 2) },
    },
  }
  const judged = readAtlas(told)
  const ordered = (over: Partial<Wish>) =>
    arranged(judged, { ...wish, ...over })
      .flatMap(({ heads }) => heads)
      .map(({ name }) => name)
      .join(' ')

  it('are counted, the best first', () => {
    expect(judged.verdicts).toEqual([
      ['good', 2],
      ['not to be read', 1],
      ['evenly spread', 1],
    ])
  })

  it('sort heads with the more interesting first, group them, and filter them', () => {
    expect(ordered({ sort: 'verdict' })).toBe('1.0 0.1 1.1 0.0')
    expect(ordered({ sort: 'verdict', descending: false })).toBe('0.0 1.1 1.0 0.1')
    expect(arranged(judged, { ...wish, group: 'verdict' }).map(({ name }) => name)).toEqual(['good', 'not to be read', 'evenly spread'])
    expect(ordered({ verdict: 'good' })).toBe('0.1 1.0')
    expect(ordered({ kept: 0.5 })).toBe('0.1 1.0')
    expect(ordered({ kept: 0.75, verdict: 'good' })).toBe('1.0')
  })

  it('are said of a head with what it leaves on sinks', () => {
    expect(judged.heads.map((head) => described(judged, head))).toEqual([
      'Layer 0, head 0, evenly spread: nothing to map, 46 % on sinks',
      'Layer 0, head 1, map good',
      'Layer 1, head 0, map good',
      'Layer 1, head 1, map not to be read',
    ])
  })
})

describe('the beginning', () => {
  const columns = [
    { name: 'tags', label: 'Tags', meaning: '', type: 'category', array: 'score0', categories: ['sink', 'previous-token'] },
    { name: 'most_like', label: 'Most like', meaning: '', type: 'category', array: 'score2', categories: ['diffuse', 'itself'] },
    { name: 'interest', label: 'Focused attention', meaning: '', type: 'number', array: 'score1' },
  ]
  const roles = { sink: { score: 'interest', rule: 'Parks.' } }
  const ranked = readAtlas({ ...view, properties: { ...view.properties, columns, roles } })

  it('is the head whose role tells where it looks, before one that parks its weight', () => {
    const [sink, telling] = [
      ranked.heads.find(({ tags }) => tags.includes('sink')),
      ranked.heads.find(({ tags }) => tags.includes('previous-token')),
    ]
    expect(storyHead(ranked)).toBe(telling)
    expect(storyHead({ ...ranked, heads: ranked.heads.filter((one) => one !== telling) })).toBe(sink)
    expect(storyHead(atlas)).toBeNull()
  })

  it('lists the best heads of each role by the score that tells it', () => {
    expect(bestOfRoles(ranked, 1).map(({ role, heads }) => [role, heads.map(({ name }) => name)])).toEqual([['sink', ['0.0']]])
    expect(described(ranked, ranked.heads[2])).toContain('most like diffuse')
    expect(described(ranked, { ...ranked.heads[2], like: '' })).toContain('no known pattern')
  })
})
