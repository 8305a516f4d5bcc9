import { describe, expect, it } from 'vitest'

import { placeLabels, placeNames, shorten, type LabelSpace } from './labels'

const space: LabelSpace = { width: 400, height: 300, gap: 6, lineHeight: 15, air: 4, most: 100, budget: 1000 }
const measure = (text: string) => text.length * 7

describe('labels', () => {
  it('never touch one another', () => {
    const places = Array.from({ length: 300 }, (_, i) => [(i * 97) % 400, (i * 61) % 300] as const)
    const placed = placeLabels(
      places.keys(),
      (row) => places[row],
      places.map((_, i) => `word${i}`),
      measure,
      space,
    )
    expect(placed.length).toBeGreaterThan(20)
    for (const a of placed)
      for (const b of placed) {
        if (a === b) continue
        const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= space.lineHeight
        expect(apart).toBe(true)
      }
  })

  it('of the most wanted win where two want one place', () => {
    const labels = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']
    const placed = placeLabels([3, 0, 1, 2, 4, 5], () => [200, 150], labels, measure, space)
    expect(placed[0].row).toBe(3)
    expect(placed.length).toBeLessThan(6)
  })

  it('of points that lie on top of one another are written in lines, and the rest are counted', () => {
    const labels = ['clock', 'clocks', 'watch', 'bell', 'far']
    const at = (row: number) => (row === 4 ? [60, 40] : [200 + row, 150]) as [number, number]
    const plain = placeLabels([0, 1, 2, 3, 4], at, labels, measure, { ...space, air: 8 })
    expect(plain.map(({ row }) => row)).toEqual([0, 4])
    const placed = placeLabels([0, 1, 2, 3, 4], at, labels, measure, { ...space, air: 8, stacked: 12 })
    expect(placed.map(({ text }) => text)).toEqual(['clock', 'clocks', 'watch and 1 more', 'far'])
    expect(placed.slice(0, 3).map(({ y }) => y)).toEqual([150, 165, 180])
    expect(new Set(placed.slice(0, 3).map(({ x }) => x)).size).toBe(1)
  })

  it('are all written where all are wanted, those without room away from their point on a line', () => {
    const labels = Array.from({ length: 31 }, (_, i) => `word${i}`)
    const at = (row: number) => [180 + 5 * (row % 6), 140 + 5 * Math.floor(row / 6)] as [number, number]
    const placed = placeLabels(labels.keys(), at, labels, measure, { ...space, all: true })
    expect(placed.length).toBe(31)
    expect(placed.filter(({ lead }) => lead).length).toBeGreaterThan(10)
    for (const a of placed)
      for (const b of placed)
        if (a !== b) expect(a.x + a.width <= b.x || b.x + b.width <= a.x || Math.abs(a.y - b.y) >= space.lineHeight).toBe(true)
    expect(placeLabels(labels.keys(), at, labels, measure, space).length).toBeLessThan(31)
  })

  it('grow in number when the points move apart', () => {
    const at = (spread: number) => (row: number) => [200 + ((row % 10) - 5) * spread, 150 + (Math.floor(row / 10) - 5) * spread] as const
    const rows = Array.from({ length: 100 }, (_, i) => i)
    const labels = rows.map((row) => `w${row}`)
    const near = placeLabels(rows, at(4), labels, measure, space).length
    const far = placeLabels(rows, at(28), labels, measure, space).length
    expect(far).toBeGreaterThan(2 * near)
  })

  it('stay on screen, and points off screen have none', () => {
    const places = [
      [399, 150],
      [-1, 20],
      [200, 301],
      [1, 8],
    ] as const
    const placed = placeLabels([0, 1, 2, 3], (row) => places[row], ['edge', 'left', 'below', 'corner'], measure, space)
    expect(placed.map(({ row }) => row)).toEqual([0, 3])
    for (const { x, y, width } of placed) {
      expect(x).toBeGreaterThanOrEqual(0)
      expect(x + width).toBeLessThanOrEqual(400)
      expect(y).toBeGreaterThan(0)
    }
  })

  it('take the side that covers the fewest points', () => {
    const covered = ([left]: readonly [number, number, number, number]) => (left > 200 ? 3 : 0)
    const [label] = placeLabels([0], () => [200, 150], ['word'], measure, { ...space, covered })
    expect(label.x).toBeLessThan(200)
  })

  it('stop at the given number and the given budget', () => {
    const at = (row: number) => [(row % 8) * 50 + 5, Math.floor(row / 8) * 20 + 10] as const
    const rows = Array.from({ length: 80 }, (_, i) => i)
    const labels = rows.map(() => 'a')
    expect(placeLabels(rows, at, labels, measure, { ...space, most: 5 }).length).toBe(5)
    expect(placeLabels(rows, at, labels, measure, { ...space, budget: 3 }).length).toBe(3)
  })
})

describe('names of regions', () => {
  const screen = () => [200, 150] as const
  const room = { width: 400, height: 300, lineHeight: 18, air: 10 }

  it('move off what is written there, and are left out where all is written over', () => {
    const [alone] = placeNames([{ name: 'words' }], screen, measure, room)
    expect(alone.y).toBe(150)
    const written = [190, 145, 230, 157] as const
    const [moved] = placeNames([{ name: 'words' }], screen, measure, room, [written])
    expect(moved.y + 9 <= written[1] || moved.y - 9 >= written[3]).toBe(true)
    expect(Math.abs(moved.y - 150)).toBeLessThanOrEqual(27)
    expect(placeNames([{ name: 'words' }], screen, measure, room, [[0, 0, 400, 300]])).toEqual([])
  })

  it('of two that touch the first wanted stays', () => {
    expect(placeNames([{ name: 'large' }, { name: 'small' }], screen, measure, room).map(({ text }) => text)).toEqual(['large'])
  })
})

it('a long or broken label becomes one short line', () => {
  expect(shorten('two\n lines\t here ')).toBe('two lines here')
  expect(shorten('x'.repeat(40))).toBe('x'.repeat(31) + '…')
  expect(Array.from(shorten('🜚'.repeat(40))).length).toBe(32)
})
