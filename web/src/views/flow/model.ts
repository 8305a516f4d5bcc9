import type { NamedArray, View } from '../../lib/view'
import { orderOf } from './widget'

/** A vector of the graph: where it stands, and in which array its values are. */
export interface FlowNode {
  id: string
  label: string
  /** The letter of the field: f, i, g, o, c, h, x; with ′ that of the step before. */
  letter?: string
  kind: 'vector' | 'gate' | 'pre' | 'words'
  /** Without a place it is not drawn: the page goes through it. */
  column?: number
  row?: number
  array?: string
  layer?: number
  /** The vector of the step before; this array holds what came before the first. */
  before?: string
}

export interface Operation {
  kind: 'matrix' | 'sum' | 'product' | 'sigmoid' | 'tanh' | 'softmax' | 'complement'
  to: string
  main: string
  inputs: { node: string; weights?: string }[]
  bias?: string
  /** Of a GRU, the bias that goes with the state. */
  second_bias?: string
  /** Which block of rows of the weights, each as high as the result is wide. */
  block?: number
}

export interface Alarm {
  vector: string
  layer: number
  step: number
  units?: number[]
  level: 'alarm' | 'notice'
  text: string
  /** What it was measured on. */
  evidence?: string
}

export interface Figure {
  label: string
  shown: string
  meaning: string
}

export interface Named {
  word: string
  colour: string | null
  value: number
}

export interface Flow {
  title: string
  subtitle: string
  model: 'lstm' | 'gru' | 'decoder' | 'masked' | 'encoder'
  tokens: string[]
  /** What the first token is, where the model starts from one that the text does not hold. */
  start: string
  /** Per step what the text says where the model has no such word, elsewhere empty; and the sentence that says so. */
  unknown: string[]
  unread: string
  words: string[]
  layers: number
  alarms: Alarm[]
  quality: Figure[]
  notes: string[]
  arrays: Record<string, NamedArray>
  /** −log p of the word that came next, per step; null where nothing can be said. */
  surprise: Float32Array | null
}

/** What means are of, in words; how many values cells and hidden vectors have, and how many of them leave their usual ranges at most. */
export interface Usual {
  over: string
  strays: number
  values: number
  /** How far from its mean the furthest cell of a step is, in standard deviations: the median, and in one step of twenty. */
  furthest: [number, number]
}

export interface Lstm extends Flow {
  /** Null of a GRU, of which nothing is compared. */
  usual: Usual | null
  nodes: Map<string, FlowNode>
  operations: Operation[]
  /** The operation that makes a node. */
  makes: Map<string, Operation>
}

export function readFlow(view: View): Flow {
  const properties = view.properties as unknown as Flow
  return {
    title: properties.title,
    subtitle: properties.subtitle,
    model: properties.model,
    tokens: properties.tokens,
    start: properties.start ?? '',
    unknown: properties.unknown ?? [],
    unread: properties.unread ?? '',
    words: properties.words,
    layers: properties.layers,
    alarms: properties.alarms,
    quality: properties.quality,
    notes: properties.notes,
    arrays: view.arrays,
    surprise: (view.arrays['surprise']?.data as Float32Array | undefined) ?? null,
  }
}

export function readLstm(view: View): Lstm {
  const properties = view.properties as { nodes: FlowNode[]; operations: Operation[]; usual?: Partial<Usual> }
  return {
    ...readFlow(view),
    usual: properties.usual?.over ? (properties.usual as Usual) : null,
    nodes: new Map(properties.nodes.map((node) => [node.id, node])),
    operations: properties.operations,
    makes: new Map(properties.operations.map((operation) => [operation.to, operation])),
  }
}

/** A row of an array whose last axis is the vector; `at` are the other indices. */
export function rowOf(array: NamedArray, ...at: number[]): Float32Array {
  const width = array.shape[array.shape.length - 1]
  let start = 0
  for (let axis = 0; axis < at.length; axis++) start = start * array.shape[axis] + at[axis]
  return (array.data as Float32Array).subarray(start * width, (start + 1) * width)
}

/** Where a node's row is at a step: the array's name, and its indices. */
function place(node: FlowNode, step: number): [string, number[]] {
  if (node.before && step === 0) return [node.before, [node.layer!]]
  const at = node.before ? step - 1 : step
  return [node.array!, node.layer === undefined ? [at] : [node.layer, at]]
}

/** The vector of a node at a step; for words, the probabilities of the best. */
export function vector(flow: Lstm, id: string, step: number): Float32Array {
  if (id === 'softmax') return rowOf(flow.arrays['top_chances'], step)
  if (id === 'logits') return rowOf(flow.arrays['top_logits'], step)
  const [name, at] = place(flow.nodes.get(id)!, step)
  return rowOf(flow.arrays[name], ...at)
}

/** One value of a node at every step. */
export function overTime(flow: Lstm, id: string, dim: number): Float32Array {
  return Float32Array.from(flow.tokens, (_, step) => vector(flow, id, step)[dim])
}

/**
 * The order in which the units of each layer stand in long boxes, largest mean of the cell (of a GRU the hidden vector) on top:
 * one for all boxes of a layer and all steps, so that a unit can be followed from box to box. The word's own dimensions have their own.
 */
export function sharedOrders(flow: Lstm): Map<number, Int32Array> {
  const orders = new Map<number, Int32Array>()
  for (let layer = -1; layer < flow.layers; layer++) {
    const id = layer < 0 ? 'embedding' : flow.nodes.has(`l${layer}.cell`) ? `l${layer}.cell` : `l${layer}.hidden`
    const mean = new Float32Array(vector(flow, id, 0).length)
    flow.tokens.forEach((_, step) => vector(flow, id, step).forEach((value, i) => (mean[i] += value)))
    orders.set(layer, orderOf(mean))
  }
  return orders
}

/** The range that a node's boxes are drawn on at every step: gates from shut, 0, to open, 1; others fill their boxes. */
export function boundsOf(node: FlowNode): readonly [number, number] | null {
  return node.kind === 'gate' ? [0, 1] : null
}

/** The colour of a node at a step, or null where colours are not known. */
export function colourOf(flow: Lstm, id: string, step: number): string | null {
  const node = flow.nodes.get(id)!
  if (!node.array) return null
  const [name, at] = place(node, step)
  const array = flow.arrays[`colour_${name}`]
  return array ? css(rowOf(array, ...at)) : null
}

/** How far a node's vector is from each of the words that colours are fitted against; null where that is not known. */
export function referenceDistances(flow: Lstm, id: string, step: number): Float32Array | null {
  const node = flow.nodes.get(id)
  if (!node?.array || !flow.arrays['references']) return null
  const [name, at] = place(node, step)
  const array = flow.arrays[`far_${name}`]
  return array ? rowOf(array, ...at) : null
}

export function css(bytes: ArrayLike<number>): string {
  return `rgb(${bytes[0]} ${bytes[1]} ${bytes[2]})`
}

export function wordColour(flow: Flow, word: number): string | null {
  const array = flow.arrays['word_colours']
  return array && word >= 0 ? css((array.data as Uint8Array).subarray(3 * word, 3 * word + 3)) : null
}

export function named(flow: Flow, ids: ArrayLike<number>, values: ArrayLike<number>): Named[] {
  return Array.from({ length: ids.length }, (_, i) => i)
    .filter((i) => ids[i] >= 0)
    .map((i) => ({ word: flow.words[ids[i]], colour: wordColour(flow, ids[i]), value: values[i] }))
}

/** The nearest words of a node's vector. */
export function nearest(flow: Lstm, id: string, step: number): Named[] {
  const node = flow.nodes.get(id)!
  if (!node.array) return []
  const [name, at] = place(node, step)
  const ids = flow.arrays[`nearest_${name}`]
  return ids ? named(flow, rowOf(ids, ...at), rowOf(flow.arrays[`nearest_${name}_by`], ...at)) : []
}

export function topWords(flow: Lstm, step: number): Named[] {
  return named(flow, rowOf(flow.arrays['top'], step), rowOf(flow.arrays['top_chances'], step))
}

/** A token as it can be read: spaces and line ends made visible where they are all there is. */
export function shownWord(word: string): string {
  if (word === '') return '∅'
  // A leading space belongs to the word as the tokenizer cuts it.
  if (word.startsWith(' ') && word.trim() !== '') word = word.slice(1)
  return word.trim() === '' ? word.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll(' ', '␣') : word.replaceAll('\n', '⏎')
}

/** The number of a token in the text where another one is written alike, else nothing. */
export function numberOf(flow: Pick<Flow, 'tokens'>, at: number): string {
  const written = shownWord(flow.tokens[at])
  return flow.tokens.some((token, other) => other !== at && shownWord(token) === written) ? String(at) : ''
}

/** A token in a sentence: quoted, with its number where another one is written alike. */
export function tokenNamed(flow: Pick<Flow, 'tokens'>, at: number): string {
  const number = numberOf(flow, at)
  return `“${shownWord(flow.tokens[at])}”${number && ` (token ${number})`}`
}
