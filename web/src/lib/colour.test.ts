import { describe, expect, it } from 'vitest'

import { CATEGORIES, categoryMark, DISTINCT, hex, NEUTRAL, RAMP, rampColour, rampOf, rgb, SHAPES, type Rgb, type Theme } from './colour'

// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
const SIGHTS = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
}

const apply = (m: number[], v: number[]) => [0, 3, 6].map((r) => m[r] * v[0] + m[r + 1] * v[1] + m[r + 2] * v[2])

function linear(colour: Rgb): number[] {
  return colour.map((channel) => {
    const share = channel / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
}

function oklab(light: number[]): number[] {
  const cones = apply(
    [0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619, 0.2817188376, 0.6299787005],
    light.map((value) => Math.min(Math.max(value, 0), 1)),
  ).map(Math.cbrt)
  return apply(
    [0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371, 0.7827717662, -0.808675766],
    cones,
  )
}

const apart = (a: number[], b: number[]) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])

describe.each(['light', 'dark'] as Theme[])('the %s colours', (theme) => {
  it.each(Object.entries(SIGHTS))('of categories stay 0.12 apart in OKLab under %s', (_, matrix) => {
    const seen = CATEGORIES[theme].map((colour) => oklab(apply(matrix, linear(rgb(colour)))))
    for (let i = 0; i < seen.length; i++) for (let j = 0; j < i; j++) expect(apart(seen[i], seen[j])).toBeGreaterThan(0.12)
  })

  it('of the ramp change lightness by even steps', () => {
    const lightness = RAMP[theme].map((colour) => oklab(linear(rgb(colour)))[0])
    const steps = lightness.slice(1).map((value, i) => value - lightness[i])
    const mean = steps.reduce((sum, step) => sum + step) / steps.length
    for (const step of steps) expect(Math.abs(step / mean - 1)).toBeLessThan(0.05)
    expect(Math.sign(mean)).toBe(theme === 'light' ? -1 : 1)
  })
})

const luminance = (colour: string) => apply([0.2126, 0.7152, 0.0722, 0, 0, 0, 0, 0, 0], linear(rgb(colour)))[0]

describe('the ramp on a dark ground', () => {
  it.each(RAMP.dark)('is seen at %s', (colour) => {
    expect((luminance(colour) + 0.05) / (luminance('#15171b') + 0.05)).toBeGreaterThan(3)
  })
})

describe('categories on a dark ground', () => {
  it.each(CATEGORIES.light.map((light, at) => [light, CATEGORIES.dark[at]]))('%s keeps its hue as %s', (light, dark) => {
    const [one, other] = [light, dark].map((colour) => {
      const [, a, b] = oklab(linear(rgb(colour)))
      return (Math.atan2(b, a) * 180) / Math.PI
    })
    expect(Math.abs(((one - other + 540) % 360) - 180)).toBeLessThan(6)
    expect((luminance(dark) + 0.05) / (luminance('#15171b') + 0.05)).toBeGreaterThan(3)
  })
})

describe('marks of categories', () => {
  it('repeat no pair of colour and shape before they run out', () => {
    const marks = Array.from({ length: DISTINCT }, (_, rank) => JSON.stringify(categoryMark(rank, 'light')))
    expect(new Set(marks).size).toBe(DISTINCT)
    expect(DISTINCT).toBe(CATEGORIES.light.length * SHAPES.length)
  })

  it('are neutral for no value and for ranks beyond the last', () => {
    expect(categoryMark(-1, 'dark').colour).toBe(NEUTRAL.dark)
    expect(categoryMark(DISTINCT, 'light').colour).toBe(NEUTRAL.light)
  })
})

it('the ramp begins and ends at its stops and clamps beyond', () => {
  expect(hex(rampColour(0, 'light'))).toBe(RAMP.light[0])
  expect(hex(rampColour(1, 'light'))).toBe(RAMP.light.at(-1))
  expect(hex(rampColour(7, 'dark'))).toBe(RAMP.dark.at(-1))
  expect(hex(rampColour(0.5, 'dark'))).toBe(RAMP.dark[4])
})

it('short and long hex mean the same', () => {
  expect(rgb('#fff')).toEqual([255, 255, 255])
  expect(rgb('#1a2b3c')).toEqual([26, 43, 60])
})

it('what is first has the same hue on both grounds, and what is most stands out on either', () => {
  expect(hex(rampColour(0, 'dark', 'position'))).toBe(RAMP.dark.at(-1))
  expect(rampOf('position', 'light')).toBe(RAMP.light)
  expect(rampOf('entropy', 'dark')).toBe(RAMP.dark)
})
