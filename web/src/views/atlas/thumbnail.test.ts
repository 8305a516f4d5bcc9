import { expect, it } from 'vitest'

import { around } from './thumbnail'

it('a map is framed by what is shown of it', () => {
  const places = Float32Array.of(0, 0, 10, 4, 100, 100)
  expect(around(places, Int32Array.of(0, 1))).toEqual({ x: 5, y: 2, span: 10 })
  expect(around(places, Int32Array.of())).toEqual({ x: 0, y: 0, span: 1 })
})
