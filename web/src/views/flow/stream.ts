import type { NamedArray, View } from '../../lib/view'
import { fromHalves } from './half'
import { percent } from './figures'
import { css, named, readFlow, rowOf, tokenNamed, type Flow, type Named } from './model'

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
  /** The tokens that are shown whole; of a long prompt not all. */
  looked: number[]
  /** Where a token stands among those; −1 where it is not one of them. */
  place: (token: number) => number
  /** Whether what parts add directly is shown: only where sums meet the model's own scores. */
  sums: boolean
  /** The vectors of a layer's heads, head × token × dim. */
  headsOf: (layer: number) => Promise<Float32Array | null>
  /** The same where they are unpacked already, else undefined. */
  headsNow: (layer: number) => Float32Array | null | undefined
  vectors: Record<'stream' | 'mlp', NamedArray>
  sources: NamedArray
  attention: NamedArray
  queryKey: NamedArray | null
  /** token × word × layer × neuron. */
  neurons: NamedArray | null
}

export function readStream(view: View): Stream {
  const properties = view.properties as { heads: number; dims: number; post_norm: boolean; choices: number; sums: boolean }
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
  const flow = readFlow(view)
  const looked = Array.from(arrays['looked'].data as Int32Array)
  const places = new Map(looked.map((token, at) => [token, at]))
  return {
    ...flow,
    looked,
    place: (token) => places.get(token) ?? -1,
    sums: properties.sums,
    heads: properties.heads,
    dims: properties.dims,
    nodes: arrays['lens'].shape[0],
    postNorm: properties.post_norm,
    choices: properties.choices,
    split: arrays['neurons'].shape[1],
    headsOf,
    headsNow: (layer) => unpacked.get(layer),
    vectors: { stream: whole(arrays['stream']), mlp: whole(arrays['mlp']) },
    sources: whole(arrays['sources']),
    attention: whole(arrays['attention']),
    queryKey: arrays['query_key'] ? whole(arrays['query_key']) : null,
    neurons: arrays['all_neurons'] ? whole(arrays['all_neurons']) : null,
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

export const nodeVector = (stream: Stream, node: number, token: number) => rowOf(stream.vectors.stream, node, stream.place(token))
export const mlpVector = (stream: Stream, layer: number, token: number) => rowOf(stream.vectors.mlp, layer, stream.place(token))

export function headVector(stream: Stream, heads: Float32Array, head: number, token: number): Float32Array {
  const start = (head * stream.looked.length + stream.place(token)) * stream.dims
  return heads.subarray(start, start + stream.dims)
}

/** The logit lens, or the one that was fitted to the model. */
export type Lens = 'lens' | 'tuned'

export const lensName = (lens: Lens) => (lens === 'tuned' ? 'tuned lens' : 'logit lens')

export function lensAt(stream: Stream, node: number, token: number, lens: Lens = 'lens'): Named[] {
  const at = stream.place(token)
  return named(stream, rowOf(stream.arrays[lens], node, at), rowOf(stream.arrays[`${lens}_values`], node, at))
}

/** The node from which on the first word of a token's lens is the one that it ends with, among every `by`-th node; the last where it came last. */
export function settledAt(stream: Stream, token: number, lens: Lens = 'lens', by = 1): number {
  let node = stream.nodes - 1
  const word = lensAt(stream, node, token, lens)[0]?.word
  while (node - by >= 0 && lensAt(stream, node - by, token, lens)[0]?.word === word) node -= by
  return node
}

export interface LensScores {
  /** At the embedding and after every layer: KL of the model's own prediction from the lens's, and how often the first word is the same. */
  lenses: { name: string; kl: number[]; first: number[] }[]
  /** The KL where no node is read: the prediction of the mean last state. */
  nothing: number
}

/** How far to trust the lenses, over held-out tokens; null where none was fitted. */
export function lensScores(stream: Stream): LensScores | null {
  const [kl, first] = [stream.arrays['lens_kl'], stream.arrays['lens_first']]
  if (!kl || !first) return null
  const lenses = (['lens', 'tuned'] as const).map((lens, row) => ({
    name: lensName(lens),
    kl: Array.from(rowOf(kl, row)),
    first: Array.from(rowOf(first, row)),
  }))
  return { lenses, nothing: stream.arrays['lens_null'].data[0] }
}

/** The colour of a vector; the last of `at` is its token. */
export function colourAt(stream: Stream, name: 'stream' | 'tuned' | 'heads' | 'mlp', ...at: number[]): string | null {
  const array = stream.arrays[`colour_${name}`]
  return array ? css(rowOf(array, ...placed(stream, at))) : null
}

const placed = (stream: Stream, at: number[]) => [...at.slice(0, -1), stream.place(at[at.length - 1])]

/** The words whose score a head or an MLP raises most; the last of `at` is the token. */
export function raised(stream: Stream, name: 'heads' | 'mlp', ...at: number[]): Named[] {
  const ids = rowOf(stream.arrays[`${name}_words`], ...placed(stream, at))
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
    if (stream.arrays['bias']) given.push([`bias of layer ${layer}`, rowOf(stream.arrays['bias'], layer)])
  } else given.push([`MLP ${layer}`, mlpVector(stream, layer, token)])
  let parts: Part[]
  if (stream.postNorm) {
    const gain =
      rowOf(stream.arrays['norm_gain'], node - 1)[dim] *
      stream.arrays['norm_factor'].data[(node - 1) * stream.looked.length + stream.place(token)]
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
  /** layer × head, and per layer: what each part adds itself. */
  heads: Float32Array
  mlp: Float32Array
  /** By how much the score is lower without the part; NaN where that was not measured. */
  totalHeads: Float32Array
  totalMlp: Float32Array
  bias: Float32Array
  embedding: number
  constant: number
  total: number
  /** The model's own. */
  score: number
  /** What the answer loses without the part: nats of the word's log-probability; of two words, or where no chances are known, the total. */
  lostHeads: Float32Array
  lostMlp: Float32Array
  byChance: boolean
  /** The largest share of a head or an MLP, the largest total effect, and the largest loss of a part that not every word needs. */
  most: number
  mostTotal: number
  mostLost: number
}

/** What each part adds to the score of a token's chosen word, or to the difference of two words. */
export function scoreOf(stream: Stream, token: number, choice: number, minus = -1): Score {
  const row = stream.place(token) * stream.choices
  const part = (name: string): Float32Array => {
    const array = stream.arrays[`part_${name}`]
    const size = array.shape.slice(2).reduce((a, b) => a * b, 1)
    const of = (at: number) => (array.data as Float32Array).subarray((row + at) * size, (row + at + 1) * size)
    if (minus < 0) return of(choice)
    const other = of(minus)
    return of(choice).map((value, i) => value - other[i])
  }
  const one = (name: string) => {
    const { data } = stream.arrays[name]
    return data[row + choice] - (minus < 0 ? 0 : data[row + minus])
  }
  const sum = (values: ArrayLike<number>) => Array.from(values).reduce((a, b) => a + b, 0)
  const [heads, mlp, bias, embedding] = [part('heads'), part('mlp'), part('bias'), sum(part('embedding'))]
  const [totalHeads, totalMlp] = [part('total_heads'), part('total_mlp')]
  const constant = one('part_constant')
  const total = sum(heads) + sum(mlp) + sum(bias) + embedding + constant
  const largest = (...all: Float32Array[]) =>
    Math.max(1e-9, ...all.flatMap((values) => Array.from(values, Math.abs).filter(Number.isFinite)))
  const most = largest(heads, mlp)
  const mostTotal = largest(totalHeads, totalMlp)
  const own = stream.arrays['log_chance'].data[row + choice]
  const byChance = minus < 0 && Number.isFinite(own)
  const lost = (name: string, otherwise: Float32Array) => (byChance ? part(name).map((without) => own - without) : otherwise)
  const [lostHeads, lostMlp] = [lost('log_chance_heads', totalHeads), lost('log_chance_mlp', totalMlp)]
  const found = { heads, mlp, totalHeads, totalMlp, lostHeads, lostMlp, byChance, bias, embedding, constant, total, score: one('score') }
  const others = allParts(stream).filter((part) => !(byChance && isVital(stream, token, part)))
  const mostLost = Math.max(1e-9, ...others.map((part) => Math.abs(lostOf(stream, found, part))).filter(Number.isFinite))
  return { ...found, most, mostTotal, mostLost }
}

/** A head, or the MLP of a layer where head is −1. */
export interface PartName {
  layer: number
  head: number
}

export const partName = ({ layer, head }: PartName) => (head < 0 ? `MLP ${layer}` : `head ${layer}.${head}`)
export const directOf = (stream: Stream, score: Score, { layer, head }: PartName) =>
  head < 0 ? score.mlp[layer] : score.heads[layer * stream.heads + head]
export const totalOf = (stream: Stream, score: Score, { layer, head }: PartName) =>
  head < 0 ? score.totalMlp[layer] : score.totalHeads[layer * stream.heads + head]

export const lostOf = (stream: Stream, score: Pick<Score, 'lostHeads' | 'lostMlp'>, { layer, head }: PartName) =>
  head < 0 ? score.lostMlp[layer] : score.lostHeads[layer * stream.heads + head]

export function allParts(stream: Stream): PartName[] {
  const all: PartName[] = []
  for (let layer = 0; layer < stream.layers; layer++) for (let head = -1; head < stream.heads; head++) all.push({ layer, head })
  return all
}

/** The chance of a token's chosen word where a part is taken away; NaN where it is not known. */
export function chanceWithout(stream: Stream, token: number, choice: number, { layer, head }: PartName): number {
  const at = stream.place(token)
  return Math.exp(
    head < 0
      ? rowOf(stream.arrays['part_log_chance_mlp'], at, choice)[layer]
      : rowOf(stream.arrays['part_log_chance_heads'], at, choice, layer)[head],
  )
}

const vitals = new WeakMap<Stream, Map<string, number>>()

/** At how many of the tokens that are looked at a part is needed. */
export function neededAt(stream: Stream, part: PartName): number {
  const known = vitals.get(stream) ?? new Map<string, number>()
  vitals.set(stream, known)
  const name = partName(part)
  const count = known.get(name) ?? stream.looked.filter((token) => needed(stream, token, part)).length
  known.set(name, count)
  return count
}

/** Whether a part is needed for whatever is said, at this token or at most of them: then it says little of one word. */
export const isVital = (stream: Stream, token: number, part: PartName) =>
  needed(stream, token, part) || 2 * neededAt(stream, part) > stream.looked.length

/** Whether the words that were likely have next to no chance without a part. */
export function needed(stream: Stream, token: number, part: PartName): boolean {
  let [before, without] = [0, 0]
  for (let choice = 0; choice < stream.choices; choice++) {
    before += chanceOf(stream, token, choice)
    without += chanceWithout(stream, token, choice, part)
  }
  return without < 0.05 * before
}

/** The word that comes first where a part is taken away, and its chance; null where it is not known. */
export function firstWithout(stream: Stream, token: number, { layer, head }: PartName): { word: string; chance: number } | null {
  const name = head < 0 ? 'without_mlp' : 'without_heads'
  if (!stream.arrays[name]) return null
  const at = stream.place(token)
  const of = (array: string) => (head < 0 ? rowOf(stream.arrays[array], at)[layer] : rowOf(stream.arrays[array], at, layer)[head])
  return of(name) < 0 ? null : { word: stream.words[of(name)], chance: of(`${name}_chance`) }
}

/** The chance of a token's chosen word in the run as it was; NaN of models that say no words. */
export function chanceOf(stream: Stream, token: number, choice: number): number {
  return Math.exp(stream.arrays['log_chance'].data[stream.place(token) * stream.choices + choice])
}

/** A weight below which a head is not said to read a token. */
const READ = 0.1

/**
 * The token that a head brings most from, the first one and the token itself left out: that of its thickest line in the picture, or of its
 * largest weight where no line is thick enough; −1 where it reads no other.
 */
export function readBy(stream: Stream, step: number, { layer, head }: PartName): number {
  const ends = stream.arrays['route_heads'].data as Int32Array
  const importance = stream.arrays['route_importance'].data as Float32Array
  let [best, most] = [-1, 0]
  for (let edge = 0; edge < importance.length; edge++) {
    const from = ends[4 * edge + 2]
    if (ends[4 * edge] !== layer || ends[4 * edge + 1] !== head || ends[4 * edge + 3] !== step || from === 0 || from === step) continue
    if (importance[edge] > most) [best, most] = [from, importance[edge]]
  }
  if (best >= 0) return best
  const weights = weightsOf(stream, layer, head, step)
  for (let at = 1; at < weights.length; at++) if (at !== step && weights[at] > Math.max(most, READ)) [best, most] = [at, weights[at]]
  return best
}

/** A share of a head's weight from which on it is said to read a token. */
const MOST = 0.5

/**
 * What a head looks at, in words that follow its name: “reads” is said where one token has most of its weight, the first one aside, on which
 * heads rest that have nothing to look for; empty where nothing else has a share worth naming.
 */
export function looksAt(stream: Stream, step: number, { layer, head }: PartName): string {
  const weights = weightsOf(stream, layer, head, step)
  const largest = (from: number) => {
    let best = from
    for (let at = from; at < weights.length; at++) if (weights[at] > weights[best]) best = at
    return best
  }
  if (weights.length < 2) return ''
  const other = largest(1)
  const share = weights[other]
  const named = other === step ? 'its own token' : tokenNamed(stream, other)
  if (share > MOST) return `reads ${named} (${percent(share)} of its weight)`
  if (weights[0] > share)
    return share > READ ? `rests on the first token (${percent(weights[0])}) and looks most at ${named} (${percent(share)})` : ''
  return `looks at many tokens, most at ${named} (${percent(share)})`
}

/** All heads and MLPs, those whose loss changes the answer most first; where nothing was taken away, those that add most. */
export function ranked(stream: Stream, score: Score): PartName[] {
  const all = allParts(stream)
  const known = measured(score)
  const size = (part: PartName) => Math.abs(known ? lostOf(stream, score, part) : directOf(stream, score, part)) || 0
  const sizes = new Map(all.map((part) => [part, size(part)]))
  return all.sort((a, b) => sizes.get(b)! - sizes.get(a)!)
}

/** Whether any part was taken away. */
export const measured = (score: Score) => score.lostHeads.some(Number.isFinite) || score.lostMlp.some(Number.isFinite)

/** What a total effect is an effect on. */
export const measuredBy = (stream: Stream, score: Score, minus: number) =>
  minus >= 0 ? 'lead' : score.byChance ? 'log-probability' : stream.model === 'encoder' ? 'score' : 'logit'

/** The names of both effects, here and in tables: what a part adds itself, and what is lost without it. */
export const addedName = (stream: Stream) => (stream.model === 'encoder' ? 'score added' : 'logit added')
export const lostName = (stream: Stream, score: Score) =>
  score.byChance ? 'nats lost' : stream.model === 'encoder' ? 'score lost' : 'logit lost'

/** Numbers of one word less those of another, where both are known. */
function less(one: Float32Array | null, other: Float32Array | null): Float32Array | null {
  return one && other ? one.map((value, i) => value - other[i]) : null
}

/** How a head's share of a word's score splits over the tokens it reads; null where it is not known. */
export function sourcesOf(stream: Stream, token: number, choice: number, layer: number, head: number, minus = -1): Float32Array | null {
  const at = stream.place(token)
  const of = (word: number) => (stream.sums && word < stream.split ? rowOf(stream.sources, at, word, layer, head) : null)
  return minus < 0 ? of(choice) : less(of(choice), of(minus))
}

export function weightsOf(stream: Stream, layer: number, head: number, token: number): Float32Array {
  return rowOf(stream.attention, layer, head, stream.place(token))
}

/** q·k of a token with all others, as it enters the softmax; −∞ where a token is not seen. */
export function queryKeyOf(stream: Stream, layer: number, head: number, token: number): Float32Array | null {
  return stream.queryKey ? rowOf(stream.queryKey, stream.place(token), layer, head) : null
}

/** What the neurons of an MLP add: all of them for the first words, else the strongest. */
export function neuronsOf(stream: Stream, token: number, choice: number, layer: number, minus = -1): { parts: Part[]; all: boolean } {
  const at = stream.place(token)
  const every = (word: number) => (stream.neurons && word < stream.neurons.shape[1] ? rowOf(stream.neurons, at, word, layer) : null)
  const whole = minus < 0 ? every(choice) : less(every(choice), every(minus))
  if (whole) return { parts: Array.from(whole, (share, id) => ({ name: `neuron ${id}`, share })), all: true }
  if (choice >= stream.split || minus >= 0) return { parts: [], all: false }
  const ids = rowOf(stream.arrays['neurons'], at, choice, layer)
  const values = rowOf(stream.arrays['neuron_values'], at, choice, layer)
  return { parts: Array.from(ids, (id, i) => ({ name: `neuron ${id}`, share: values[i] })).filter((_, i) => ids[i] >= 0), all: false }
}

/** The experts that a mixture chose at a token, with their weights and what each adds to a word; empty of plain MLPs. */
export function expertsOf(
  stream: Stream,
  token: number,
  choice: number,
  layer: number,
): { expert: number; weight: number; share: number }[] {
  if (!stream.arrays['experts']) return []
  const at = stream.place(token)
  const [ids, weights] = [rowOf(stream.arrays['experts'], at, layer), rowOf(stream.arrays['expert_weights'], at, layer)]
  const shares = rowOf(stream.arrays['part_experts'], at, choice, layer)
  return Array.from(ids, (expert, i) => ({ expert, weight: weights[i], share: shares[i] }))
}
