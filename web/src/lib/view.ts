/** A picture as data, as Python's `View` writes it; arrays are typed arrays here. */
export interface View {
  kind: string
  properties: Record<string, unknown>
  arrays: Record<string, NamedArray>
  /** Arrays that `properties.later` names: unpacked when first asked for, since they are many or large. */
  later: Record<string, () => Promise<NamedArray>>
}

export type Numbers = Float32Array | Int32Array | Uint16Array | Uint8Array

export interface NamedArray {
  shape: number[]
  data: Numbers
}

/** How an array stands in a page: little-endian bytes, gzipped, in base64. */
export interface PackedArray {
  dtype: string
  shape: number[]
  gzip: string
}

export interface PackedView {
  kind: string
  properties: Record<string, unknown>
  arrays: Record<string, PackedArray>
}

const TYPES: Record<string, new (buffer: ArrayBuffer) => Numbers> = {
  float32: Float32Array,
  int32: Int32Array,
  uint16: Uint16Array,
  uint8: Uint8Array,
}

/** The view of a page's data block, its arrays unpacked. */
export async function unpackView(packed: PackedView): Promise<View> {
  const names = new Set((packed.properties['later'] as string[] | undefined) ?? [])
  const all = Object.entries(packed.arrays)
  const now = all.filter(([name]) => !names.has(name))
  const later = all.filter(([name]) => names.has(name))
  const entries = await Promise.all(now.map(async ([name, array]) => [name, await unpackArray(name, array)] as const))
  return {
    kind: packed.kind,
    properties: packed.properties,
    arrays: Object.fromEntries(entries),
    later: Object.fromEntries(later.map(([name, array]) => [name, () => unpackArray(name, array)])),
  }
}

export async function unpackArray(name: string, packed: PackedArray): Promise<NamedArray> {
  return typedArray(name, packed.dtype, packed.shape, await gunzip(fromBase64(packed.gzip)))
}

/** Little-endian bytes as numbers of a type; refused where type or length do not fit. */
export function typedArray(name: string, dtype: string, shape: number[], bytes: ArrayBuffer): NamedArray {
  const type = TYPES[dtype]
  if (!type) throw new Error(`array ${name} has type ${dtype}; this page reads ${Object.keys(TYPES).join(', ')}`)
  const expected = shape.reduce((product, size) => product * size, 1)
  const size = new type(new ArrayBuffer(0)).BYTES_PER_ELEMENT
  if (bytes.byteLength !== expected * size)
    throw new Error(`array ${name} holds ${bytes.byteLength / size} numbers, but its shape ${shape.join('×')} needs ${expected}`)
  return { shape, data: new type(bytes) }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = atob(text)
  const out = new Uint8Array(bytes.length)
  for (let i = 0; i < bytes.length; i++) out[i] = bytes.charCodeAt(i)
  return out
}

async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      controller.enqueue(bytes)
      controller.close()
    },
  }).pipeThrough(new DecompressionStream('gzip'))
  return new Response(stream).arrayBuffer()
}
