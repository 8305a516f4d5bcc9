import { describe, expect, it } from 'vitest'

import { keptPlace, placeOf } from './camera-text'

const PLACE = { x: 1.23456, y: -20, zoom: 3 }
const MAP = new Float32Array([0, 1, 2, 3])

describe('a place on a map in the address', () => {
  it('is read as it was written', () => {
    expect(keptPlace({ place: PLACE })).toBe('1.235,-20,3')
    expect(placeOf(keptPlace({ place: PLACE }, MAP), MAP)).toEqual({ x: 1.235, y: -20, zoom: 3 })
    expect(keptPlace({ place: null }, MAP)).toBeNull()
  })

  it('is not taken for a place on another map', () => {
    expect(placeOf(keptPlace({ place: PLACE }, MAP), new Float32Array([0, 1, 2, 4]))).toBeNull()
    expect(placeOf('1,2,3', MAP)).toEqual({ x: 1, y: 2, zoom: 3 })
  })

  it.each([null, '', '1,2', '1,2,0', '1,2,3,m1,5', 'a,b,c', '1,,3'])('is not read off %j', (text) => {
    expect(placeOf(text, text?.includes('m1') ? undefined : MAP)).toBeNull()
  })
})
