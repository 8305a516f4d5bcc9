import { describe, expect, it } from 'vitest'

import { heatTable, level, paintHeat, stepColour } from './heat'

// a step down is told by 1000 and the step
const table = Uint32Array.from({ length: 511 }, (_, i) => (i < 255 ? 1255 - i : i - 255))
const all = (n: number) => Int32Array.from({ length: n }, (_, i) => i)

function painted(values: number[], rows: number, columns: number, width: number, height: number, over = {}) {
  const pixels = new Uint32Array(width * height)
  const cells = { values: Float32Array.from(values), wide: columns, rows: all(rows), columns: all(columns), ...over }
  const window = { top: 0, bottom: cells.rows.length, left: 0, right: cells.columns.length }
  paintHeat(pixels, width, height, cells, window, 1, table)
  return [...pixels]
}

describe('a painted matrix', () => {
  it('gives every cell its own pixels', () => {
    expect(painted([0, 1, 0.25, 0], 2, 2, 4, 2)).toEqual([0, 0, 255, 255, 128, 128, 0, 0])
  })

  it('loses no strong weight where cells are smaller than pixels', () => {
    const values = new Array(100 * 100).fill(0)
    values[37 * 100 + 91] = 1
    const pixels = painted(values, 100, 100, 10, 10)
    expect(pixels.filter((pixel) => pixel === 255).length).toBe(1)
    expect(pixels[3 * 10 + 9]).toBe(255)
  })

  it.each(['light', 'dark'] as const)('keeps the ends of signed values apart in the %s', (theme) => {
    const apart = (signed: boolean) => {
      const [below, above] = [stepColour(-255, theme, signed), stepColour(255, theme, signed)]
      return Math.hypot(...below.map((value, at) => value - above[at]))
    }
    expect(apart(true)).toBeGreaterThan(170)
    expect(apart(false)).toBeLessThan(110)
  })

  it('gives what is below 0 colours of its own, and the larger of both the pixel', () => {
    expect(painted([0.25, -1, -0.25, 0], 2, 2, 2, 2)).toEqual([128, 1255, 1128, 0])
    expect(painted([0.25, -1, 0, 0], 2, 2, 1, 1)).toEqual([1255])
    expect(painted([1, -0.25, 0, 0], 2, 2, 1, 1)).toEqual([255])
  })

  it('shows only the rows and columns that are wanted, in their order', () => {
    expect(painted([0, 1, 0, 0, 0, 0.25, 1, 1, 1], 3, 3, 2, 2, { rows: [1, 0], columns: [2, 1] })).toEqual([128, 0, 0, 255])
  })
})

it('levels grow with the square root, from nothing to the largest', () => {
  expect([0, 0.25, 1, 2].map((weight) => level(weight, 1))).toEqual([0, 128, 255, 255])
  expect([-0.25, -2].map((weight) => level(weight, 1))).toEqual([-128, -255])
  expect(level(0, 0)).toBe(0)
})

it('nothing is the colour of the ground', () => {
  expect(heatTable('light')[255]).toBe(0xffffffff)
  expect(heatTable('dark')[255]).toBe(0xff1b1715)
})
