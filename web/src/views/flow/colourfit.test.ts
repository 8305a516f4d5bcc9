import { describe, expect, it } from 'vitest'

import { alongWay, cubeColour, fitPlaces } from './colourfit'

/** The distances of the document's Figure 5, to four words whose places are ours. */
const FAR = [1, 1, 3, 4]
const PLACES = [0.1, 0.2, 0.3, 0.9, 0.1, 0.4, 0.2, 0.8, 0.9, 0.7, 0.9, 0.1]
const FRAME = [0.6254, 0.0492, -0.0407, -0.041356, -0.239022, -0.034472, 0.214008, -0.052479, 0.107114, -0.111892, -0.01203, 0.217634]

describe('the fitting of a colour', () => {
  it('ends where the library puts the same vector, and never makes things worse', () => {
    const places = fitPlaces(FAR, PLACES)
    const { point } = places[places.length - 1]
    for (const [axis, value] of [0.47819187, 0.28717261, 0.41386278].entries()) expect(point[axis]).toBeCloseTo(value, 4)
    for (let i = 1; i < places.length; i++) expect(places[i].stress).toBeLessThanOrEqual(places[i - 1].stress)
    for (const [axis, value] of [0.475, 0.5, 0.425].entries()) expect(places[0].point[axis]).toBeCloseTo(value, 9)
  })

  it('is played in equal pieces, from the first place to the last', () => {
    const places = fitPlaces(FAR, PLACES)
    const way = alongWay(places, 10)
    expect(way[0]).toEqual({ point: places[0].point, step: 0 })
    expect(way[10].step).toBe(places.length - 1)
    for (const [axis, value] of places[places.length - 1].point.entries()) expect(way[10].point[axis]).toBeCloseTo(value, 6)
    const [still] = alongWay([places[0]], 4)
    expect(still.point).toEqual(places[0].point)
  })

  it('finds a place where all distances are right, where there is one', () => {
    const wanted = [0.5, 0.4, 0.6]
    const far = [0, 1, 2, 3].map((i) => Math.hypot(...wanted.map((value, axis) => value - PLACES[3 * i + axis])))
    const most = Math.max(...far)
    // Distances are scaled so that the farthest is half a cube: words are put as near.
    const places = fitPlaces(
      far,
      PLACES.map((value, i) => wanted[i % 3] + (value - wanted[i % 3]) / most / 2),
    )
    expect(places[places.length - 1].stress).toBeLessThan(1e-6)
  })

  it('shows the colours that the library does', () => {
    expect(cubeColour([0.47819187, 0.28717261, 0.41386278], FRAME)).toBe('rgb(144 107 173)')
    expect(cubeColour([0.1, 0.9, 0.4], FRAME)).toBe('rgb(233 136 171)')
    expect(cubeColour([0, 0.5, 2], null)).toBe('rgb(0 128 255)')
  })
})
