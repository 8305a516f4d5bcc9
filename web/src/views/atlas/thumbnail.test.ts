import { expect, it, vi } from 'vitest'

import { around, thumbnail, type Dressed } from './thumbnail'

it('a map is framed by what is shown of it', () => {
  const places = Float32Array.of(0, 0, 10, 4, 100, 100)
  expect(around(places, Int32Array.of(0, 1))).toEqual({ x: 5, y: 2, span: 10 })
  expect(around(places, Int32Array.of())).toEqual({ x: 0, y: 0, span: 1 })
})

/** What is filled with which colour, in order: a circle, or a way of so many straight lines. */
function filled(dressed: Dressed, size = 100): string[] {
  const out: string[] = []
  let path = ''
  const context = {
    setTransform: vi.fn(),
    fillRect: (_x: number, _y: number, wide: number) => out.push(`square ${wide} ${context.fillStyle}`),
    beginPath: () => (path = ''),
    moveTo: vi.fn(),
    lineTo: () => (path += 'line '),
    closePath: vi.fn(),
    arc: () => (path = 'circle '),
    fill: () => out.push(path + context.fillStyle),
    stroke: () => out.push(`rim ${context.strokeStyle}`),
    fillStyle: '',
    strokeStyle: '',
  }
  const canvas = { getContext: () => context } as unknown as HTMLCanvasElement
  thumbnail(canvas, Float32Array.of(0, 0, 10, 4, 3, 3), size, dressed)
  return out
}

it('what is lit keeps its shape and colour where these tell queries from keys', () => {
  const dressed = { shown: Int32Array.of(0, 1, 2), colours: ['blue', 'orange', 'orange'], quiet: 'grey', accent: 'ink' }
  const lit = new Set([0, 1])
  expect(filled({ ...dressed, lit, isDiamond: (row) => row > 0 }).slice(3)).toEqual([
    'circle blue',
    'rim ink',
    'line line line orange',
    'rim ink',
  ])
  expect(filled({ ...dressed, lit }).slice(3)).toEqual(['circle ink', 'circle ink'])
})

it('dots grow with a map that is not small', () => {
  const dressed = { shown: Int32Array.of(0, 1), colours: ['blue', 'orange'], quiet: 'grey', accent: 'ink', lit: null }
  expect(filled(dressed)).toEqual(['square 3 blue', 'square 3 orange'])
  expect(filled(dressed, 260)).toEqual(['square 6 blue', 'square 6 orange'])
})

it('a large map of two sides tells them by shape too', () => {
  const dressed = { shown: Int32Array.of(0, 1), colours: ['blue', 'orange'], quiet: 'grey', accent: 'ink', lit: null }
  const isDiamond = (row: number) => row > 0
  expect(filled({ ...dressed, isDiamond }, 260)).toEqual(['circle blue', 'line line line orange'])
  expect(filled({ ...dressed, isDiamond }, 100)).toEqual(['square 3 blue', 'square 3 orange'])
})
