import { expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { placeNames, Plot, readEffects, sorted } from './model'

const f = (...data: number[]): NamedArray => ({ shape: [data.length], data: Float32Array.from(data) })
const i = (...data: number[]): NamedArray => ({ shape: [data.length], data: Int32Array.from(data) })

function view(): View {
  return {
    kind: 'effects',
    later: {},
    properties: {
      title: 'T',
      subtitle: 'S',
      how: 'screen',
      texts: 1,
      agreement: null,
      notes: [],
      labels: ['0.0', '0.1', 'MLP 0', 'both'],
      parts: ['head', 'head', 'mlp', 'group'],
      tags: ['', 'induction', '', '2 parts; more than 5 of 5 random groups'],
      source: ['exact', 'estimate', 'exact', 'exact'],
      found: ['', '', '', ''],
      members: ['', '', '', '0.0 0.1'],
      scatter: false,
    },
    arrays: {
      layer: i(0, 0, 0, -1),
      head: i(0, 1, -1, -1),
      matters: f(0.01, 0.1, 1, 3),
      matters_low: f(NaN, NaN, NaN, NaN),
      matters_high: f(NaN, NaN, NaN, NaN),
      effect: f(0.01, NaN, 1, 3),
      loss_change: f(0.5, NaN, 2, 4),
      estimate: f(0.01, 0.1, 1, NaN),
      share: f(0.3, 0.2, 0.1, NaN),
      interest: f(0.9, 0.2, NaN, NaN),
      alone: f(NaN, NaN, NaN, 0.11),
      others: f(NaN, NaN, NaN, 0.2),
      others_most: f(NaN, NaN, NaN, 0.4),
      order: i(3, 2, 0, 1),
    },
  }
}

it('keeps the order that came with the parts, and sorts by others with what is not known last', () => {
  const model = readEffects(view())
  expect(model.parts.map(({ name }) => name)).toEqual(['MLP 0', '0.0', '0.1'])
  expect(sorted(model, 'share').map(({ name }) => name)).toEqual(['0.0', '0.1', 'MLP 0'])
  expect(sorted(model, 'lossChange').map(({ name }) => name)).toEqual(['MLP 0', '0.0', '0.1'])
  expect(sorted(model, 'interest').map(({ name }) => name)).toEqual(['0.0', '0.1', 'MLP 0'])
})

it('keeps groups apart from single parts, with the most that random groups do', () => {
  const model = readEffects(view())
  expect(model.groups).toHaveLength(1)
  expect(model.groups[0]).toMatchObject({ name: 'both', members: '0.0 0.1' })
  expect(model.groups[0].othersMost).toBeCloseTo(0.4)
  expect(model.groups[0].alone).toBeCloseTo(0.11)
})

it('plots heads alone, the stronger the higher', () => {
  const plot = new Plot(readEffects(view()))
  expect(plot.parts.map(({ name }) => name)).toEqual(['0.0', '0.1'])
  expect(plot.y(plot.parts[1])).toBeGreaterThan(plot.y(plot.parts[0]))
  expect(plot.ticks.map(({ text }) => text)).toEqual(['0.01', '0.02', '0.05', '0.1'])
})

it('names that would lie on another stand elsewhere beside their point, and the first has first choice', () => {
  const points = [
    { row: 9, x: 50, y: 50, name: '4.11' },
    { row: 4, x: 54, y: 48, name: '2.9' },
    { row: 7, x: 52, y: 49, name: '1.8' },
    { row: 2, x: 51, y: 51, name: '0.3' },
    { row: 1, x: 53, y: 50, name: '5.5' },
    { row: 3, x: 198, y: 50, name: '3.1' },
  ]
  const names = placeNames(
    points.map((point) => ({ ...point, marked: true })),
    0,
    200,
  )
  expect(names.get(9)).toEqual({ x: 56, y: 45, anchor: 'start' })
  expect(names.get(4)!.anchor).toBe('end')
  // there is room for four around a place, and none beyond the edge
  expect(names.has(1)).toBe(false)
  expect(names.get(3)!.anchor).toBe('end')
  const boxes = [...names].map(([row, { x, y, anchor }]) => {
    const wide = 6 * points.find((point) => point.row === row)!.name.length
    return { left: anchor === 'start' ? x : x - wide, wide, y }
  })
  boxes.forEach((a, i) =>
    boxes.slice(i + 1).forEach((b) => {
      const apart = a.left >= b.left + b.wide || b.left >= a.left + a.wide || Math.abs(a.y - b.y) >= 12
      expect(apart).toBe(true)
    }),
  )
})

it('a name is nearer to its own point than to any other, or is left out', () => {
  const all = [
    { row: 0, x: 50, y: 50, name: '2.3' },
    { row: 1, x: 60, y: 43, name: '0.4' },
    { row: 2, x: 61, y: 55, name: '1.1' },
    { row: 3, x: 120, y: 50, name: '5.5' },
    { row: 4, x: 122, y: 51, name: '4.4' },
  ]
  const names = placeNames(all, 0, 200)
  // 2.3 steps aside from the two to its right, of which each has room to its right
  expect(names.get(0)!.anchor).toBe('end')
  expect(names.get(1)!.anchor).toBe('start')
  for (const [row, { x, y, anchor }] of names) {
    const wide = 6 * all[row].name.length
    const left = anchor === 'start' ? x : x - wide
    const away = ({ x, y: up }: { x: number; y: number }) =>
      Math.hypot(Math.max(left - x, 0, x - left - wide), Math.max(y - 10 - up, 0, up - y))
    for (const other of all) if (other.row !== row) expect(away(other)).toBeGreaterThan(away(all[row]))
  }
  // points that nobody named count as well, and what is marked has its name in any case
  expect(placeNames(all.slice(0, 1), 0, 200, all).get(0)!.anchor).toBe('end')
  const crowd = [-9, 0, 9].flatMap((x, i) => [-9, 0, 9].map((y, j) => ({ row: 3 * i + j, x: 50 + x, y: 50 + y, name: '1.1' })))
  expect(placeNames(crowd.slice(4, 5), 0, 200, crowd).size).toBe(0)
  expect(placeNames([{ ...crowd[4], marked: true }], 0, 200, crowd).size).toBe(1)
})
