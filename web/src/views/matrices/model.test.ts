import { expect, it } from 'vitest'

import { cellColour, keyOf, shares, valueText, type Table } from './model'

const table = (values: number[], scale: Table['scale']): Table => ({
  title: '',
  rows: ['a'],
  columns: values.map(String),
  values: Float32Array.from(values),
  scale,
  centre: 1,
  decimals: [2, 2],
  note: '',
  second: null,
  secondName: '',
  rowActions: null,
  cellActions: null,
  cellNotes: null,
})

it('signed values have no colour at 0, and one colour on either side', () => {
  expect(shares(table([-1, 0, 2, NaN], 'signed'), [-2, 2])).toEqual([-0.5, 0, 1, null])
})

it('ratios are drawn by their logarithm, alike above and below', () => {
  expect(shares(table([0.25, 1, 4, NaN], 'ratio'), [-2, 2])).toEqual([-1, 0, 1, null])
})

it('plain values run from nothing to the largest', () => {
  expect(shares(table([0, 1, 2], 'plain'), [0, 2])).toEqual([0, 0.5, 1])
})

it('a value has one colour in all tables of a picture, whatever else they hold', () => {
  const span: [number, number] = [-3, 3]
  expect(shares(table([2], 'ratio'), span)).toEqual([expect.closeTo(1 / 3)])
  expect(shares(table([2, 8], 'ratio'), span)[0]).toBeCloseTo(1 / 3)
})

it('a centre has the colour of the ground, and what has no value has none', () => {
  expect(cellColour(0, 'light').fill).toBe('#ffffff')
  expect(cellColour(-1, 'light')).toEqual({ fill: '#763103', strong: true })
  expect(cellColour(null, 'light').fill).toBe('transparent')
})

it('values are written without needless zeros', () => {
  expect(valueText(1.5, 2)).toBe('1.50')
  expect([0.001, -0.001, 0].map((value) => valueText(value, 2))).toEqual(['0', '0', '0'])
  expect(valueText(-0.25, 2)).toBe('−0.25')
  expect(valueText(NaN, 2)).toBe('–')
})

it('the key of colours has the values of both ends', () => {
  expect(keyOf(table([0, 1, 2], 'plain'), [0, 2], 'light').ends).toEqual([0, 2])
  expect(keyOf(table([-1, 2], 'signed'), [-2, 2], 'light').ends).toEqual([-2, 2])
  const ratio = keyOf(table([0.25, 4], 'ratio'), [-2, 2], 'light')
  expect(ratio.ends).toEqual([0.25, 4])
  expect([ratio.colours[0], ratio.colours.at(-1)]).toEqual([-1, 1].map((share) => cellColour(share, 'light').fill))
})
