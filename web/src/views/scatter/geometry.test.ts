import { describe, expect, it } from 'vitest'

import { around, bounds, fit, pan, toScreen, toWorld, zoomAt } from './camera'
import { Grid } from './grid'
import { insideOutline, isInside } from './lasso'
import { neighbours } from './neighbours'
import { axes, FIRST_TURN, middle, NO_TURN, orbit, turned } from './projection'
import { shapeDistance } from './shapes'

/** A small generator with a seed, so that a failure can be had again. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function cloud(count: number, seed = 1): Float32Array {
  const next = random(seed)
  return Float32Array.from({ length: count * 2 }, () => next() * 20 - 10)
}

const size = { width: 800, height: 600 }

describe('the camera', () => {
  const camera = { x: 2, y: -1, scale: 37 }

  it('takes a place to the screen and back', () => {
    const [x, y] = toWorld(camera, size, ...toScreen(camera, size, 3.5, 4.25))
    expect(x).toBeCloseTo(3.5, 10)
    expect(y).toBeCloseTo(4.25, 10)
  })

  it('shows the whole box inside the margin, y upward', () => {
    const box = { left: -3, right: 9, bottom: 1, top: 4 }
    const fitted = fit(box, size, 40)
    expect(toScreen(fitted, size, -3, 2.5)).toEqual([40, 300])
    expect(toScreen(fitted, size, 0, 4)[1]).toBeLessThan(toScreen(fitted, size, 0, 1)[1])
  })

  it('shows a single point and no point in the middle', () => {
    expect(fit(bounds(Float32Array.of(5, 7)), size)).toEqual({ x: 5, y: 7, scale: 1 })
    expect(bounds(new Float32Array(0))).toEqual({ left: -0.5, right: 0.5, bottom: -0.5, top: 0.5 })
  })

  it('has one frame for two maps', () => {
    expect(around(bounds(Float32Array.of(0, 0, 2, 1)), bounds(Float32Array.of(-1, 0.5, 1, 3)))).toEqual({
      left: -1,
      right: 2,
      bottom: 0,
      top: 3,
    })
  })

  it('keeps the place under the pointer while zooming', () => {
    const under = toWorld(camera, size, 123, 456)
    const zoomed = zoomAt(camera, size, 123, 456, 2.5, [1, 1000])
    expect(zoomed.scale).toBeCloseTo(92.5)
    const after = toWorld(zoomed, size, 123, 456)
    expect(after[0]).toBeCloseTo(under[0], 10)
    expect(after[1]).toBeCloseTo(under[1], 10)
  })

  it('does not zoom beyond its limits', () => {
    expect(zoomAt(camera, size, 0, 0, 1e9, [1, 1000]).scale).toBe(1000)
    expect(zoomAt(camera, size, 0, 0, 1e-9, [1, 1000]).scale).toBe(1)
  })

  it('moves the picture with the drag', () => {
    const before = toScreen(camera, size, 0, 0)
    const after = toScreen(pan(camera, 10, -4), size, 0, 0)
    expect(after[0] - before[0]).toBeCloseTo(10)
    expect(after[1] - before[1]).toBeCloseTo(-4)
  })
})

describe('the grid', () => {
  it('finds the same nearest point as looking at all of them', () => {
    const plane = cloud(2000)
    const grid = new Grid(plane)
    const next = random(7)
    for (let trial = 0; trial < 200; trial++) {
      const [x, y, reach] = [next() * 24 - 12, next() * 24 - 12, next() * 2]
      let [best, least] = [-1, reach]
      for (let i = 0; i < 2000; i++) {
        const distance = Math.hypot(plane[2 * i] - x, plane[2 * i + 1] - y)
        if (distance < least) [best, least] = [i, distance]
      }
      expect(grid.nearest(x, y, reach)).toBe(best)
    }
  })

  it('skips what is hidden', () => {
    const grid = new Grid(Float32Array.of(0, 0, 1, 0))
    expect(grid.nearest(0.1, 0, 5, (row) => row !== 0)).toBe(1)
    expect(grid.nearest(0.1, 0, 5, () => false)).toBe(-1)
  })

  it('works for no point, one point, all in one place, and all on one line', () => {
    expect(new Grid(new Float32Array(0)).nearest(0, 0, 10)).toBe(-1)
    expect(new Grid(Float32Array.of(3, 4)).nearest(3.5, 4, 1)).toBe(0)
    expect(new Grid(new Float32Array(2000)).nearest(0, 0, 1)).toBe(0)
    const line = Float32Array.from({ length: 2000 }, (_, i) => (i % 2 ? 0 : i / 2))
    expect(new Grid(line).nearest(500.2, 0, 1)).toBe(500)
  })
})

describe('the lasso', () => {
  // A U, whose notch is outside though its corners surround it.
  const outline = Float32Array.of(0, 0, 6, 0, 6, 6, 4, 6, 4, 2, 2, 2, 2, 6, 0, 6)

  it('knows inside from outside of a concave outline', () => {
    expect(isInside(outline, 1, 5)).toBe(true)
    expect(isInside(outline, 3, 1)).toBe(true)
    expect(isInside(outline, 3, 5)).toBe(false)
    expect(isInside(outline, 7, 1)).toBe(false)
  })

  it('finds the same rows as testing every point', () => {
    const plane = cloud(3000, 3)
    const expected = Array.from({ length: 3000 }, (_, i) => i).filter((i) => isInside(outline, plane[2 * i], plane[2 * i + 1]))
    expect(expected.length).toBeGreaterThan(50)
    expect(insideOutline(outline, plane, new Grid(plane))).toEqual(expected)
  })

  it('takes nothing with fewer than three corners, and nothing hidden', () => {
    const plane = cloud(100)
    expect(insideOutline(Float32Array.of(0, 0, 9, 9), plane, new Grid(plane))).toEqual([])
    expect(insideOutline(outline, plane, new Grid(plane), () => false)).toEqual([])
  })
})

describe('neighbours', () => {
  it('are those of a full sort, in all dimensions', () => {
    const at = Float32Array.from(cloud(600, 5).slice(0, 900))
    const found = neighbours(at, 3, 17, 10)
    const all = Array.from({ length: 300 }, (_, row) => ({
      row,
      distance: Math.hypot(...[0, 1, 2].map((d) => at[3 * row + d] - at[51 + d])),
    }))
      .filter(({ row }) => row !== 17)
      .sort((a, b) => a.distance - b.distance)
    expect(found.map(({ row }) => row)).toEqual(all.slice(0, 10).map(({ row }) => row))
    expect(found[3].distance).toBeCloseTo(all[3].distance, 5)
  })

  it('are fewer when there are fewer, and none for a single point', () => {
    expect(neighbours(Float32Array.of(0, 0, 1, 1), 2, 0, 10)).toEqual([{ row: 1, distance: Math.SQRT2 }])
    expect(neighbours(Float32Array.of(0, 0), 2, 0, 10)).toEqual([])
  })
})

describe('the projection', () => {
  it('of two axes takes those columns', () => {
    expect([...axes(Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8), 4, 3, 0)]).toEqual([4, 1, 8, 5])
  })

  it('keeps lengths under a thousand turns: no shear builds up', () => {
    let turn = NO_TURN
    for (let i = 0; i < 1000; i++) turn = turned(turn, 0.1, -0.07)
    const product = [0, 3, 6].flatMap((a) =>
      [0, 3, 6].map((b) => turn[a] * turn[b] + turn[a + 1] * turn[b + 1] + turn[a + 2] * turn[b + 2]),
    )
    product.forEach((value, i) => expect(value).toBeCloseTo(i % 4 === 0 ? 1 : 0, 10))
  })

  it('of an orbit without turn is the first two axes, nearness the third', () => {
    const at = Float32Array.of(0, 0, -1, 2, 4, 1)
    const { plane, near } = orbit(at, middle(at), NO_TURN)
    expect([...plane]).toEqual([-1, -2, 1, 2])
    expect([...near]).toEqual([0, 1])
  })

  it('of an orbit never stretches a distance', () => {
    const at = Float32Array.from(cloud(150, 9))
    const { plane } = orbit(at, middle(at), FIRST_TURN)
    for (let i = 1; i < 100; i++) {
      const flat = Math.hypot(plane[2 * i] - plane[0], plane[2 * i + 1] - plane[1])
      const full = Math.hypot(at[3 * i] - at[0], at[3 * i + 1] - at[1], at[3 * i + 2] - at[2])
      expect(flat).toBeLessThanOrEqual(full + 1e-4)
    }
  })
})

it.each([0, 1, 2, 3])('shape %d covers the area of a circle of its radius', (shape) => {
  let inside = 0
  for (let x = -20; x < 20; x += 0.1) for (let y = -20; y < 20; y += 0.1) if (shapeDistance(shape, x, y, 10) < 0) inside++
  expect(inside * 0.01).toBeGreaterThan(0.98 * Math.PI * 100)
  expect(inside * 0.01).toBeLessThan(1.02 * Math.PI * 100)
})
