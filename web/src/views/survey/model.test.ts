import { expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { arrangedHeads, readSurvey } from './model'

const f = (shape: number[], ...data: number[]): NamedArray => ({ shape, data: Float32Array.from(data) })
const i = (shape: number[], ...data: number[]): NamedArray => ({ shape, data: Int32Array.from(data) })

function view(): View {
  return {
    kind: 'survey',
    later: {},
    properties: {
      title: 'T',
      subtitle: '9 texts',
      heads: [
        [0, 0],
        [0, 1],
        [1, 0],
      ],
      names: [['previous-token'], [], ['previous-token', 'diffuse']],
      scores: [{ name: 'interest', label: 'Focused attention', meaning: '', format: '', texts: 9 }],
      roles: [
        { name: 'previous-token', rule: 'Looks back.', texts: 9 },
        { name: 'diffuse', rule: 'Spreads.', texts: 9 },
      ],
      recurrence: [1, null],
      head_map: [{ name: 'kept', label: 'Kept', brief: '50 %', shown: '50 %', meaning: 'm' }],
      tokens: [
        ['[CLS]', 'lamp', '##light', ',', 'too'],
        ['The', '␣lamp', 's'],
      ],
      notes: [],
    },
    arrays: {
      mean: f([1, 3], 0.2, NaN, 0.9),
      head_xy: f([3, 2], 0, 0, 1, 0, 5, 5),
      head_kept: f([3], 1, 0.5, 0),
      low: f([1, 3], 0.1, NaN, 0.8),
      high: f([1, 3], 0.3, NaN, 1),
      state: { shape: [2, 3], data: Uint8Array.from([2, 1, 2, 0, 0, 2]) },
      share: f([2, 3], 0.9, 0.4, 1, 0, NaN, 1),
      role_mean: f([2, 3], 0.9, 0.3, 0.9, 0, 0, 1),
      role_low: f([2, 3], 0.8, 0.2, 0.8, 0, 0, 1),
      role_high: f([2, 3], 1, 0.4, 1, 0, 0, 1),
      threshold: f([2, 3], 0.35, 0.35, 0.35, 0.85, 0.85, 0.85),
      group: i([3], 0, 1, 0),
      order: i([3], 1, 0, 2),
      branches: f([2, 6], 1, 2, 0, 0, 0.3, 0, 0, 1.5, 0, 0.3, 0.8, -1),
      passage_text: i([3, 2], 0, 1, -1, -1, 1, -1),
      passage_query: i([3, 2], 4, 2, -1, -1, 1, -1),
      passage_key: i([3, 2], 1, 1, -1, -1, 1, -1),
      passage_weight: f([3, 2], 0.8, 0.7, 0, 0, 0.5, 0),
      passage_beyond: f([3, 2], 0.6, 0.5, 0, 0, 0.4, 0),
      passage_keys: i([3, 2, 2], 1, 2, 1, -1, -1, -1, -1, -1, 1, 0, -1, -1),
      passage_weights: f([3, 2, 2], 0.8, 0.1, 0.7, 0, 0, 0, 0, 0, 0.5, 0.2, 0, 0),
    },
  }
}

it('reads heads with the roles they are given and those they have sometimes', () => {
  const survey = readSurvey(view())
  expect(survey.heads.map(({ name, group }) => [name, group])).toEqual([
    ['0.0', 0],
    ['0.1', 1],
    ['1.0', 0],
  ])
  expect(survey.heads[1].sometimes).toEqual([{ role: 'previous-token', share: expect.closeTo(0.4) }])
  expect(survey.given).toEqual([
    ['previous-token', 2],
    ['diffuse', 1],
  ])
  expect(survey.rolesOf(2).map(({ state }) => state)).toEqual(['given', 'given'])
  expect(survey.groups).toEqual([
    { number: 0, heads: 2, recurrence: 1 },
    { number: 1, heads: 1, recurrence: null },
  ])
  expect(survey.branches[1].group).toBe(-1)
})

it('arranges heads by the tree, by the model or by a score, and filters them', () => {
  const survey = readSurvey(view())
  const names = (wish: object) =>
    arrangedHeads(survey, { sort: 'tree', role: null, group: null, text: '', ...wish }).map(({ name }) => name)
  expect(names({})).toEqual(['0.1', '0.0', '1.0'])
  expect(names({ sort: 'model' })).toEqual(['0.0', '0.1', '1.0'])
  expect(names({ sort: 'interest' })).toEqual(['1.0', '0.0', '0.1']) // without a value last
  expect(names({ role: 'diffuse' })).toEqual(['1.0'])
  expect(names({ group: 0 })).toEqual(['0.0', '1.0'])
  expect(names({ text: '0' })).toEqual(['0.1', '0.0'])
  expect(names({ text: '1.0' })).toEqual(['1.0'])
  expect(names({ text: 'prev' })).toEqual(['0.0', '1.0'])
})

it('writes passages as running text with query and key marked', () => {
  const survey = readSurvey(view())
  const [first, second] = survey.passages(0)
  const text = (passage: typeof first) => passage.tokens.map(({ text, space }) => (space ? ' ' : '') + text).join('')
  expect(text(first)).toBe('[CLS] lamplight, too')
  expect(first.tokens.map(({ mark }) => mark)).toEqual(['', 'key', '', '', 'query'])
  expect(first.tokens[2].weight).toBeCloseTo(0.1)
  expect(text(second)).toBe('The lamps')
  expect(survey.passages(1)).toEqual([])
  expect(survey.passages(2)[0].tokens[1].mark).toBe('both')
})

it('carries the map of heads with what it keeps, coloured by group first', () => {
  const survey = readSurvey(view())
  expect(survey.headMap?.figures[0].shown).toBe('50 %')
  expect([...survey.headMap!.kept!.values]).toEqual([1, 0.5, 0])
  expect(survey.columns.map(({ column }) => [column.name, column.type])).toEqual([
    ['group', 'category'],
    ['interest', 'number'],
  ])
  const bare = view()
  delete bare.arrays['head_xy']
  expect(readSurvey(bare).headMap).toBeNull()
})

it('writes a character that the tokenizer cut once, and the number of a marked piece', () => {
  const cut = view()
  ;(cut.properties['tokens'] as string[][])[0] = ['[CLS]', '日‹1/2›', '日‹2/2›', '本‹1/1›', '␣too']
  const [first] = readSurvey(cut).passages(0)
  expect(first.tokens.map(({ text }) => text).join('|')).toBe('[CLS]|日||本|too')
  cut.arrays['passage_key'].data.fill(2)
  const [marked] = readSurvey(cut).passages(0)
  expect(marked.tokens.map(({ text }) => text).join('|')).toBe('[CLS]|日|‹2/2›|本|too')
})
