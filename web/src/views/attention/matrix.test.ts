import { expect, it } from 'vitest'

import { cellPaths, givingWay, moved, spaced, zoomed } from './matrix'

it('zooming keeps what is under the pointer there', () => {
  const [from, to] = zoomed(0, 100, 0.3, 2, 100)
  expect(to - from).toBeCloseTo(50)
  expect(from + 0.3 * (to - from)).toBeCloseTo(30)
})

it('zooming never goes beyond the matrix nor below four cells', () => {
  expect(zoomed(10, 60, 0, 0.01, 100)).toEqual([0, 100])
  const [from, to] = zoomed(0, 100, 0.5, 1e6, 100)
  expect(to - from).toBeCloseTo(4)
  expect(zoomed(0, 2, 0.5, 10, 2)).toEqual([0, 2])
})

it('moving stops at the ends', () => {
  expect(moved(10, 20, -50, 100)).toEqual([0, 10])
  expect(moved(10, 20, 500, 100)).toEqual([90, 100])
  expect(moved(10, 20, 5, 100)).toEqual([15, 25])
})

it('a saved matrix draws every cell that is not of the ground once, in the colour of its weight', () => {
  const values = Float32Array.from([1, 1, 0, 0.25, 0.25, 0.25])
  const cells = { values, wide: 3, rows: [0, 1], columns: [0, 1, 2] }
  const paths = cellPaths(
    { cells, labels: { rows: [], columns: [] }, top: 1, square: true, group: 0 },
    { top: 0, bottom: 2, left: 0, right: 3 },
    'light',
  )
  expect(paths.match(/M\d+ \d+h\d+/g)).toEqual(['M0 0h2', 'M0 1h3'])
  expect(paths).toContain('fill="#0f2257"')
})

it('labels are a line apart and rather words than commas', () => {
  const tokens = ['[', 'a', ',', 'b', ',', ',', ',', 'c', '.', 'd']
  const says = (index: number) => /[a-z]/.test(tokens[index])
  expect([...spaced(10, 1, says)]).toHaveLength(10)
  expect([...spaced(10, 3, says)]).toEqual([1, 4, 7])
  expect([...spaced(4, 2, () => false)]).toEqual([0, 2])
})

it('labels that the lit one would cover in part are left out whole', () => {
  const labelled: [number, number][] = [0, 1, 2, 3].map((row) => [2 * row, 12 * row])
  // the fourth row stands between the third and the fifth, half a line from each
  expect(givingWay(labelled, 3, 18)).toEqual([
    [0, 0],
    [6, 36],
    [3, 18],
  ])
  expect(givingWay(labelled, 2, 12)).toEqual([
    [0, 0],
    [4, 24],
    [6, 36],
    [2, 12],
  ])
})
