import type { NamedArray, View } from '../../lib/view'
import { fromHalves } from './half'
import { css, named, readFlow, rowOf, type Flow, type Named } from './model'

/** A transformer's residual stream: node 0 is the embedding, 2·layer+1 follows attention, 2·layer+2 the MLP. */
export interface Stream extends Flow {
  heads: number
  dims: number
  nodes: number
  /** Whether a norm stands after every sum, as in BERT. */
  postNorm: boolean
  /** Words per token whose scores are taken apart, and those of them split over tokens and neurons. */
  choices: number
  split: number
  /** The vectors of a layer's heads, head × token × dim; null where only their sum fits the page. */
  headsOf: (layer: number) => Promise<Float32Array | null>
  /** The same where they are unpacked already, else undefined. */
  headsNow: (layer: number) => Float32Array | null | undefined
  vectors: Record<'stream' | 'mlp', NamedArray>
  together: NamedArray | null
  sources: NamedArray | null
}

export function readStream(view: View): Stream {
  const properties = view.properties as { heads: number; dims: number; post_norm: boolean; choices: number }
  const kept = new Map<number, Promise<Float32Array | null>>()
  const unpacked = new Map<number, Float32Array | null>()
  const headsOf = (layer: number) => {
    const later = view.later[`heads_${layer}`]
    const heads = kept.get(layer) ?? (later ? later().then(({ data }) => fromHalves(data as Uint8Array)) : Promise.resolve(null))
    kept.set(layer, heads)
    void heads.then((all) => unpacked.set(layer, all))
    return heads
  }
  const { arrays } = view
  return {
    ...readFlow(view),
    heads: properties.heads,
    dims: properties.dims,
    nodes: arrays['lens'].shape[0],
    postNorm: properties.post_norm,
    choices: properties.choices,
    split: arrays['neurons'].shape[1],
    headsOf,
    headsNow: (layer) => unpacked.get(layer),
    vectors: { stream: whole(arrays['stream']), mlp: whole(arrays['mlp']) },
    together: arrays['together'] ? whole(arrays['together']) : null,
    sources: arrays['sources'] ? whole(arrays['sources']) : null,
  }
}

/** An array of plain numbers, whether it was stored so or in halves. */
function whole(array: NamedArray): NamedArray {
  return array.data instanceof Uint8Array ? { shape: array.shape.slice(0, -1), data: fromHalves(array.data) } : array
}

export function nodeName(node: number): string {
  if (node === 0) return 'embedding'
  return `layer ${(node - 1) >> 1}, after ${node % 2 ? 'attention' : 'MLP'}`
}

export const nodeVector = (stream: Stream, node: number, token: number) => rowOf(stream.vectors.stream, node, token)
export const mlpVector = (stream: Stream, layer: number, token: number) => rowOf(stream.vectors.mlp, layer, token)

export function headVector(stream: Stream, heads: Float32Array, head: number, token: number): Float32Array {
  const start = (head * stream.tokens.length + token) * stream.dims
  return heads.subarray(start, start + stream.dims)
}

export function lensAt(stream: Stream, node: number, token: number): Named[] {
  return named(stream, rowOf(stream.arrays['lens'], node, token), rowOf(stream.arrays['lens_values'], node, token))
}

export function colourAt(stream: Stream, name: 'stream' | 'heads' | 'mlp', ...at: number[]): string | null {
  const array = stream.arrays[`colour_${name}`]
  return array ? css(rowOf(array, ...at)) : null
}

/** The words whose score a head or an MLP raises most. */
export function raised(stream: Stream, name: 'heads' | 'mlp', ...at: number[]): Named[] {
  const ids = rowOf(stream.arrays[`${name}_words`], ...at)
  return named(stream, ids, new Float32Array(ids.length))
}

export interface Part {
  name: string
  share: number
}

export interface Sum {
  parts: Part[]
  /** Biases and shifts, which no vector brings. */
  constant: number
  total: number
  value: number
  /** Whether the sum went through a norm with its scale frozen. */
  normed: boolean
}

/** One number of the stream as the sum that made it in its layer: what stood there, and what was added. */
export function blockSum(stream: Stream, heads: Float32Array | null, node: number, token: number, dim: number): Sum {
  const value = nodeVector(stream, node, token)[dim]
  if (node === 0) return { parts: [{ name: 'embedding', share: value }], constant: 0, total: value, value, normed: false }
  const layer = (node - 1) >> 1
  const given: [string, Float32Array][] = [[node === 1 ? 'embedding' : nodeName(node - 1), nodeVector(stream, node - 1, token)]]
  let constant = 0
  if (node % 2) {
    if (heads) for (let head = 0; head < stream.heads; head++) given.push([`head ${layer}.${head}`, headVector(stream, heads, head, token)])
    else if (stream.together) given.push([`all heads of layer ${layer}`, rowOf(stream.together, layer, token)])
    if (stream.arrays['bias']) given.push([`bias of layer ${layer}`, rowOf(stream.arrays['bias'], layer)])
  } else given.push([`MLP ${layer}`, mlpVector(stream, layer, token)])
  let parts: Part[]
  if (stream.postNorm) {
    const gain =
      rowOf(stream.arrays['norm_gain'], node - 1)[dim] * stream.arrays['norm_factor'].data[(node - 1) * stream.tokens.length + token]
    constant = rowOf(stream.arrays['norm_shift'], node - 1)[dim]
    parts = given.map(([name, vector]) => ({ name, share: (vector[dim] - mean(vector)) * gain }))
  } else parts = given.map(([name, vector]) => ({ name, share: vector[dim] }))
  const total = parts.reduce((sum, { share }) => sum + share, constant)
  return { parts, constant, total, value, normed: stream.postNorm }
}

/** One number of the stream as the sum of everything since the embedding; only where no norm stands between. */
export async function wholeSum(stream: Stream, node: number, token: number, dim: number): Promise<Sum> {
  const parts: Part[] = [{ name: 'embedding', share: nodeVector(stream, 0, token)[dim] }]
  const layers = (node + 1) >> 1
  const all = await Promise.all(Array.from({ length: layers }, (_, layer) => stream.headsOf(layer)))
  let constant = 0
  for (let layer = 0; layer < layers; layer++) {
    const heads = all[layer]
    if (heads)
      for (let head = 0; head < stream.heads; head++)
        parts.push({ name: `head ${layer}.${head}`, share: headVector(stream, heads, head, token)[dim] })
    else if (stream.together) parts.push({ name: `all heads of layer ${layer}`, share: rowOf(stream.together, layer, token)[dim] })
    if (stream.arrays['bias']) constant += rowOf(stream.arrays['bias'], layer)[dim]
    if (node >= 2 * layer + 2) parts.push({ name: `MLP ${layer}`, share: mlpVector(stream, layer, token)[dim] })
  }
  const total = parts.reduce((sum, { share }) => sum + share, constant)
  return { parts, constant, total, value: nodeVector(stream, node, token)[dim], normed: false }
}

function mean(values: Float32Array): number {
  let sum = 0
  for (const value of values) sum += value
  return sum / values.length
}

export interface Score {
  /** layer × head, and per layer. */
  heads: Float32Array
  mlp: Float32Array
  bias: Float32Array
  embedding: number
  constant: number
  total: number
  /** The model's own. */
  score: number
  /** The largest share of a head or an MLP. */
  most: number
}

/** What each part adds to the score of a token's chosen word. */
export function scoreOf(stream: Stream, token: number, choice: number): Score {
  const at = token * stream.choices + choice
  const part = (name: string): Float32Array => {
    const array = stream.arrays[`part_${name}`]
    const size = array.shape.slice(2).reduce((a, b) => a * b, 1)
    return (array.data as Float32Array).subarray(at * size, (at + 1) * size)
  }
  const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0)
  const [heads, mlp, bias, embedding] = [part('heads'), part('mlp'), part('bias'), sum(part('embedding'))]
  const constant = stream.arrays['part_constant'].data[at]
  const total = sum(heads) + sum(mlp) + sum(bias) + embedding + constant
  const most = Math.max(...heads.map(Math.abs), ...mlp.map(Math.abs), 1e-9)
  return { heads, mlp, bias, embedding, constant, total, score: stream.arrays['score'].data[at], most }
}

/** How a head's share of a word's score splits over the tokens it reads; null where it is not known. */
export function sourcesOf(stream: Stream, token: number, choice: number, layer: number, head: number): Float32Array | null {
  return stream.sources && choice < stream.split ? rowOf(stream.sources, token, choice, layer, head) : null
}

export function weightsOf(stream: Stream, layer: number, head: number, token: number): Float32Array {
  return rowOf(stream.arrays['attention'], layer, head, token)
}

export function neuronsOf(stream: Stream, token: number, choice: number, layer: number): Part[] {
  if (choice >= stream.split) return []
  const ids = rowOf(stream.arrays['neurons'], token, choice, layer)
  const values = rowOf(stream.arrays['neuron_values'], token, choice, layer)
  return Array.from(ids, (id, i) => ({ name: `neuron ${id}`, share: values[i] })).filter((_, i) => ids[i] >= 0)
}
