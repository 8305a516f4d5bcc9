import { describe, expect, it } from 'vitest'

import { CATEGORIES, DISTINCT, NEUTRAL, RAMP } from '../../lib/colour'
import type { View } from '../../lib/view'
import { cellText, columnOf, headline, readScatter, type Scatter } from './model'
import { patternOf, Search } from './search'
import { legend, NO_VALUE, OTHERS, rampEnds, rowColour, style, type Wish } from './style'

function view(over: Partial<View['properties']> = {}, arrays: View['arrays'] = {}): View {
  return {
    kind: 'scatter',
    properties: {
      title: 'Test',
      labels: ['tea', 'oslo', 'rye', 'cat'],
      columns: [
        { name: 'group', type: 'category', array: 'column0', categories: ['drinks', 'capitals'] },
        { name: 'count', type: 'number', array: 'column1' },
      ],
      color: 'group',
      ...over,
    },
    arrays: {
      xy: { shape: [4, 2], data: Float32Array.of(0, 0, 1, 1, 2, 2, 3, 3) },
      column0: { shape: [4], data: Int32Array.of(0, 1, 0, -1) },
      column1: { shape: [4], data: Float32Array.of(10, 20, NaN, 15) },
      ...arrays,
    },
    later: {},
  }
}

const wish = (scatter: Scatter, over: Partial<Wish> = {}): Wish => ({
  column: scatter.columns[0],
  theme: 'light',
  hidden: new Set(),
  emphasis: null,
  near: null,
  ...over,
})

describe('a scatter view', () => {
  it('is read with its columns, counts and ends', () => {
    const scatter = readScatter(view())
    const [group, count] = scatter.columns
    expect(scatter.colour).toBe('group')
    expect(group.type === 'category' && group.counts).toEqual([2, 1])
    expect(count.type === 'number' && [count.low, count.high]).toEqual([10, 20])
    expect([...scatter.labelOrder]).toEqual([0, 1, 2, 3])
    expect(cellText(group, 3, String)).toBe('')
    expect(cellText(count, 2, String)).toBe('')
    expect(cellText(count, 3, String)).toBe('15')
  })

  it('ignores a colour that is not a column', () => {
    expect(readScatter(view({ color: 'nothing' })).colour).toBeNull()
  })
})

describe('the style', () => {
  const scatter = readScatter(view())

  it('gives categories their colours and the missing one the neutral', () => {
    const styled = style(scatter, wish(scatter))
    expect([0, 1, 2, 3].map((row) => rowColour(styled, row))).toEqual([
      CATEGORIES.light[0],
      CATEGORIES.light[1],
      CATEGORIES.light[0],
      NEUTRAL.light,
    ])
  })

  it('leaves out what the legend hides', () => {
    const styled = style(scatter, wish(scatter, { hidden: new Set([0]) }))
    expect([...styled.order]).toEqual([1, 3])
    expect([...styled.visible]).toEqual([0, 1, 0, 1])
  })

  it('hides points without a value too', () => {
    const styled = style(scatter, wish(scatter, { column: scatter.columns[1], hidden: new Set([NO_VALUE]) }))
    expect([...styled.order]).toEqual([0, 1, 3])
  })

  it('gives numbers the ends of the ramp', () => {
    const styled = style(scatter, wish(scatter, { column: scatter.columns[1] }))
    expect(rowColour(styled, 0)).toBe(RAMP.light[0])
    expect(rowColour(styled, 1)).toBe(RAMP.light.at(-1))
    expect(rowColour(styled, 2)).toBe(NEUTRAL.light)
  })

  it('quiets what is not emphasised and draws the rest on top', () => {
    const styled = style(scatter, wish(scatter, { emphasis: Uint8Array.of(1, 0, 0, 1) }))
    expect([...styled.order]).toEqual([1, 2, 0, 3])
    expect(styled.colours[4 * 1 + 3]).toBeLessThan(styled.colours[3])
    expect(rowColour(styled, 1)).toBe(NEUTRAL.light)
  })

  it('draws near points last and larger', () => {
    const styled = style(scatter, wish(scatter, { near: Float32Array.of(1, 0, 0.5, 0.2) }))
    expect([...styled.order]).toEqual([1, 3, 2, 0])
    expect(styled.sizes[0]).toBeGreaterThan(styled.sizes[1])
  })
})

describe('the legend', () => {
  it('names categories with counts, and points without a value', () => {
    const entries = legend(readScatter(view()).columns[0], 'light')
    expect(entries.map(({ label, count }) => [label, count])).toEqual([
      ['drinks', 2],
      ['capitals', 1],
      ['(none)', 1],
    ])
  })

  it('gathers the categories that have no mark of their own', () => {
    const many = Array.from({ length: DISTINCT + 3 }, (_, i) => `g${i}`)
    const codes = Int32Array.from({ length: many.length }, (_, i) => i)
    const scatter = readScatter(
      view(
        { labels: many, columns: [{ name: 'group', type: 'category', array: 'column0', categories: many }] },
        { xy: { shape: [many.length, 2], data: new Float32Array(many.length * 2) }, column0: { shape: [many.length], data: codes } },
      ),
    )
    const entries = legend(scatter.columns[0], 'light')
    expect(entries.length).toBe(DISTINCT + 1)
    expect(entries.at(-1)).toMatchObject({ code: OTHERS, label: '3 others', count: 3 })
    const styled = style(scatter, wish(scatter, { hidden: new Set([OTHERS]) }))
    expect(styled.order.length).toBe(DISTINCT)
  })

  it('tells of the rows that are drawn alone: an end of the scale is the value of one of them', () => {
    const [group, count] = readScatter(view()).columns
    const absent = Uint8Array.of(0, 1, 1, 0)
    expect(rampEnds(columnOf(count, absent))).toEqual(['10', '15'])
    expect(legend(columnOf(count, absent), 'light', absent)).toEqual([])
    expect(legend(columnOf(group, absent), 'light', absent).map(({ label, count }) => [label, count])).toEqual([
      ['drinks', 1],
      ['capitals', 0],
      ['(none)', 1],
    ])
  })

  it('of numbers shows both ends', () => {
    expect(rampEnds(readScatter(view()).columns[1])).toEqual(['10', '20'])
    expect(rampEnds(readScatter(view()).columns[0])).toBeNull()
  })

  it('reads years without a comma, and counts with one', () => {
    const ends = (...values: number[]) =>
      rampEnds(readScatter(view({}, { column1: { shape: [4], data: Float32Array.from(values) } })).columns[1])
    expect(ends(1790, 1800, NaN, 2020)).toEqual(['1790', '2020'])
    expect(ends(1790, 1800, NaN, 20200)).toEqual(['1,790', '20,200'])
    expect(ends(90, 1800, NaN, 2020)).toEqual(['90', '2,020'])
  })
})

describe('search', () => {
  const search = new Search(['Tea', 'steam', 'team', 'Äpfel', '<img>'])

  it('finds substrings whatever the case: equal first, then beginnings, then the rest', () => {
    expect(search.find('tea')).toEqual([0, 2, 1])
  })

  it('takes no sign for a leading space into account, unless it is all there is', () => {
    const tokens = new Search(['␣tea', 'steam', '␣'])
    expect(tokens.find('tea')).toEqual([0, 1])
    expect(tokens.find('␣')).toEqual([2])
  })

  it('finds letters however they are composed', () => {
    expect(search.find('a\u0308PF')).toEqual([3])
  })

  it('takes what stands between slashes as a pattern, and a broken one as none', () => {
    expect(search.find('/^s?tea/')).toEqual([0, 1, 2])
    expect(search.find('/^T/s')).toEqual([0])
    expect(search.find('/(tea/')).toEqual([])
    expect(patternOf('/(tea/')).toBeNull()
    expect(patternOf('tea/')).toBeUndefined()
  })

  it('finds nothing for nothing, and takes every character as itself', () => {
    expect(search.find('   ')).toEqual([])
    expect(search.find('.*')).toEqual([])
    expect(search.find('<img')).toEqual([4])
  })
})

describe('the scores above a map', () => {
  const figure = (name: string, brief: string) => ({ name, brief, label: name, shown: brief, meaning: '' })
  const first = [figure('kl', '0.8'), figure('area', '0.6 (good)'), figure('item', '70 % (good)')]

  it('are the first three, and the one that says least for it', () => {
    const rest = [figure('local', '33 % (partly)'), figure('global', '0.1 (not to be read)'), figure('nDCG', '0.9 (good)')]
    expect(headline([...first, ...rest]).map(({ name }) => name)).toEqual(['kl', 'area', 'item', 'global'])
    expect(headline([...first, figure('nDCG', '0.9 (good)')])).toEqual(first)
    expect(headline([...first, figure('moved', '1.1 (not to be read)')])).toEqual(first)
  })
})
