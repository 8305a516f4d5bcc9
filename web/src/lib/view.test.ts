import { describe, expect, it } from 'vitest'

import { unpackArray, unpackView } from './view'

async function pack(array: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>, dtype: string, shape: number[]) {
  const squeezed = new Response(array.buffer).body!.pipeThrough(new CompressionStream('gzip'))
  const bytes = new Uint8Array(await new Response(squeezed).arrayBuffer())
  return { dtype, shape, gzip: btoa(String.fromCharCode(...bytes)) }
}

describe('a packed array', () => {
  it('comes back with every value and its shape', async () => {
    const values = Float32Array.from([0, -1.5, 3.25, 1e-30, NaN, 65504])
    const array = await unpackArray('xy', await pack(values, 'float32', [3, 2]))
    expect(array.shape).toEqual([3, 2])
    expect(array.data).toEqual(values)
  })

  it('may be empty', async () => {
    const array = await unpackArray('xy', await pack(new Float32Array(0), 'float32', [0, 2]))
    expect(array.data.length).toBe(0)
  })

  it('is refused when its shape does not fit, naming both', async () => {
    const packed = await pack(new Int32Array(5), 'int32', [3, 2])
    await expect(unpackArray('codes', packed)).rejects.toThrow('array codes holds 5 numbers, but its shape 3×2 needs 6')
  })

  it('is refused when its type is not known, naming those that are', async () => {
    const packed = await pack(new Int32Array(1), 'float16', [1])
    await expect(unpackArray('codes', packed)).rejects.toThrow('float16; this page reads float32, int32, uint16, uint8')
  })
})

it('a packed view keeps its kind and properties', async () => {
  const view = await unpackView({
    kind: 'scatter',
    properties: { title: 'A' },
    arrays: { codes: await pack(Int32Array.of(-1, 7), 'int32', [2]) },
  })
  expect(view.kind).toBe('scatter')
  expect(view.properties).toEqual({ title: 'A' })
  expect([...view.arrays.codes.data]).toEqual([-1, 7])
})

it('arrays for later are unpacked when asked for', async () => {
  const view = await unpackView({
    kind: 'atlas',
    properties: { later: ['a'] },
    arrays: { a: await pack(Int32Array.of(5), 'int32', [1]), b: await pack(Int32Array.of(6), 'int32', [1]) },
  })
  expect(Object.keys(view.arrays)).toEqual(['b'])
  expect([...(await view.later.a()).data]).toEqual([5])
})
