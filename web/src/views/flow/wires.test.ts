import { describe, expect, it } from 'vitest'

import { CIRCLE, OVER, wirePath } from './wires'

const sizes = { wide: 90, high: 80 }
const at = (column: number, row: number) => ({ x: 18 + column * 136, y: 40 + row * 120 })

/** Points along a path of M, H, V, Q and C, as dense as pixels are. */
function points(path: string): [number, number][] {
  const found: [number, number][] = []
  let [x, y] = [0, 0]
  for (const [, letter, rest] of path.matchAll(/([MHVQC])([^MHVQC]*)/g)) {
    const n = rest.trim().split(/[ ,]+/).map(Number)
    const ends = { M: n, H: [n[0], y], V: [x, n[0]], Q: n.slice(2), C: n.slice(4) }[letter]!
    const through = [[x, y], ...(letter === 'Q' || letter === 'C' ? [n.slice(0, 2)] : []), ...(letter === 'C' ? [n.slice(2, 4)] : []), ends]
    for (let t = 0; letter !== 'M' && t <= 1; t += 0.002) {
      let now = through
      while (now.length > 1) now = now.slice(1).map((p, i) => [now[i][0] * (1 - t) + p[0] * t, now[i][1] * (1 - t) + p[1] * t])
      found.push([now[0][0], now[0][1]])
    }
    ;[x, y] = ends
  }
  return found
}

const inside = ([x, y]: [number, number], box: { x: number; y: number }) =>
  x > box.x && x < box.x + sizes.wide && y > box.y && y < box.y + sizes.high
const onCircle = ([x, y]: [number, number], box: { x: number; y: number }) =>
  Math.hypot(x - (box.x - CIRCLE.before), y - (box.y + sizes.high / 2)) < CIRCLE.radius - 1e-6

describe('wires', () => {
  // cell before, forget gate, kept of the cell: three boxes of one row
  const [cell, gate, kept] = [at(0, 0), at(1, 0), at(2, 0)]

  it('lead from the cell before to × past the forget gate and its own operation', () => {
    const way = points(wirePath(cell, kept, [cell, gate, kept], sizes))
    expect(way.some((point) => inside(point, gate) || onCircle(point, gate))).toBe(false)
    expect(Math.min(...way.map(([, y]) => y))).toBeCloseTo(gate.y - OVER, 6)
    const [x, y] = way[way.length - 1]
    expect(Math.hypot(x - (kept.x - CIRCLE.before), y - (kept.y + sizes.high / 2))).toBeCloseTo(CIRCLE.radius, 0)
  })

  it('lead from the word of a GRU to its candidate below the boxes between, and through none', () => {
    const [word, recalled, read, candidate] = [at(0, 2.5), at(1, 2), at(2, 2), at(3, 2)]
    const way = points(wirePath(word, candidate, [word, recalled, read, candidate], sizes))
    for (const box of [recalled, read, candidate]) expect(way.some((point) => inside(point, box))).toBe(false)
    const [x, y] = way[way.length - 1]
    expect(Math.hypot(x - (candidate.x - CIRCLE.before), y - (candidate.y + sizes.high / 2))).toBeCloseTo(CIRCLE.radius, 0)
    // of a second layer, from above
    const [above, first, second, to] = [at(5, 1), at(6, 2), at(7, 2), at(8, 2)]
    const down = points(wirePath(above, to, [above, at(6, 1), at(7, 1), first, second, to], sizes))
    for (const box of [at(6, 1), at(7, 1), first, second]) expect(down.some((point) => inside(point, box))).toBe(false)
  })

  it('go straight where nothing is between', () => {
    expect(wirePath(gate, kept, [cell, gate, kept], sizes)).toContain('C')
    // as a wire through the gate would be found
    expect(points(wirePath(cell, kept, [], sizes)).some((point) => inside(point, gate))).toBe(true)
  })
})
