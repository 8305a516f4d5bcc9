import { expect, it } from 'vitest'

import { readBoxes, ticks } from './model'
import { Frame, svg } from './picture'

const INKS = { ground: '#fff', raised: '#fff', ink: '#000', soft: '#555', line: '#ddd', accent: '#00f' }

function view() {
  const numbers = Float32Array.from([
    4,
    1,
    1.5,
    2,
    2.5,
    3,
    2,
    0.5,
    0,
    ...Array(7).fill(NaN),
    3,
    2,
    3,
    4,
    5,
    6,
    4,
    1,
    2,
    5,
    5,
    5,
    5,
    5,
    5,
    0,
  ])
  return {
    kind: 'boxes',
    properties: {
      title: 'T <b>',
      subtitle: '',
      x: 'layer',
      y: 'KL',
      groups: ['0', '1'],
      series: ['a', 'a, after'],
      hues: [0, 0],
      full: [false, true],
      notes: [],
    },
    arrays: {
      numbers: { shape: [2, 2, 8], data: numbers },
      outliers: { shape: [1], data: Float32Array.from([9]) },
      outlier_of: { shape: [1], data: Int32Array.from([2]) },
    },
    later: {},
  }
}

it('pairs without values have no box, and outliers go to their own', () => {
  const { boxes } = readBoxes(view())
  expect(boxes.map(({ group, series }) => [group, series])).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
  ])
  expect(boxes[1].outliers).toEqual([9])
})

it('a box is found where it is drawn', () => {
  const read = readBoxes(view())
  const frame = new Frame(read, 600, 400)
  for (const box of read.boxes) expect(frame.at(frame.across(box.group, box.series)[0], frame.up(box.median))).toBe(box)
  expect(frame.at(frame.across(0, 1)[0], 100)).toBeNull()
})

it('a saved picture is well-formed and draws every box', () => {
  const parsed = new DOMParser().parseFromString(svg(new Frame(readBoxes(view()), 600, 400), 'light', INKS, 'serif'), 'image/svg+xml')
  expect(parsed.querySelector('parsererror')).toBeNull()
  expect(parsed.querySelector('text')!.textContent).toBe('T <b>')
  expect(parsed.documentElement.outerHTML).not.toContain('NaN')
})

it('ticks are round and lie inside', () => {
  expect(ticks(0.13, 1.02, 5)).toEqual([0.2, 0.4, 0.6, 0.8, 1])
  expect(ticks(2, 2)).toEqual([2])
})
