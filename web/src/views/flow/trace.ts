import { rowOf, vector, type Lstm } from './model'

/** What one upstream vector gives to a value: a summand or factor for each of its own values. */
export interface Share {
  node: string
  /** As long as the vector; all but `at` are 0 where only one value takes part. */
  values: Float32Array
  at: number | null
}

/** How one number came about, back to what is drawn. */
export interface Trace {
  node: string
  dim: number
  value: number
  how: 'matrix' | 'sum' | 'product' | 'through' | 'given'
  shares: Share[]
  bias: number | null
  /** What stood before the non-linearity, as it was stored; null where there is none. */
  pre: number | null
  through: 'sigmoid' | 'tanh' | 'softmax' | 'complement' | null
  /** The shares put together, and what the non-linearity makes of that. */
  total: number
  recomputed: number
  /** Why a matrix product cannot be taken apart, if it cannot. */
  missing: string | null
}

export function trace(flow: Lstm, id: string, dim: number, step: number): Trace {
  const value = vector(flow, id, step)[dim]
  const operation = flow.makes.get(id)
  const empty: Trace = {
    node: id,
    dim,
    value,
    how: 'given',
    shares: [],
    bias: null,
    pre: null,
    through: null,
    total: value,
    recomputed: value,
    missing: null,
  }
  if (!operation) return empty
  if (operation.kind === 'sum' || operation.kind === 'product') {
    const shares = operation.inputs.map(({ node }) => single(flow, node, dim, step))
    const values = shares.map((share) => share.values[dim])
    const total = operation.kind === 'sum' ? values.reduce((a, b) => a + b, 0) : values.reduce((a, b) => a * b, 1)
    return { ...empty, how: operation.kind, shares, total, recomputed: total }
  }
  if (operation.kind === 'matrix') return product(flow, empty, id, dim, step)
  const before = operation.inputs[0].node
  const drawn = flow.nodes.get(before)!.column !== undefined
  if (drawn) {
    const share = single(flow, before, dim, step)
    const pre = share.values[dim]
    return { ...empty, how: 'through', shares: [share], pre, through: operation.kind, total: pre, recomputed: bent(operation.kind, pre) }
  }
  const inner = product(flow, empty, before, dim, step)
  const pre = vector(flow, before, step)[dim]
  const recomputed =
    operation.kind === 'softmax'
      ? Math.exp(inner.total - (flow.arrays['log_total'].data as Float32Array)[step])
      : bent(operation.kind, inner.total)
  return { ...inner, node: id, value, pre, through: operation.kind, recomputed }
}

/** The summands of a matrix product: W_ij · x_j for every input, and the bias. */
function product(flow: Lstm, empty: Trace, id: string, dim: number, step: number): Trace {
  const operation = flow.makes.get(id)!
  const bias = operation.bias ? flow.arrays[operation.bias] : undefined
  if (!bias) {
    const pre = vector(flow, id, step)[dim]
    return { ...empty, how: 'matrix', total: pre, missing: 'the weights are too large for a page' }
  }
  // Of the words only some are here, numbered as the page numbers them.
  const row =
    id === 'logits'
      ? (flow.arrays['top'].data as Int32Array)[step * flow.arrays['top'].shape[1] + dim]
      : operation.block! * vector(flow, id, step).length + dim
  const given = bias.data[row] + (operation.second_bias ? flow.arrays[operation.second_bias].data[row] : 0)
  let total = given
  const shares = operation.inputs.map(({ node, weights }): Share => {
    // What has no weights is added as it is, unit by unit.
    if (!weights) {
      const share = single(flow, node, dim, step)
      total += share.values[dim]
      return share
    }
    const x = vector(flow, node, step)
    const w = rowOf(flow.arrays[weights], row)
    for (let j = 0; j < x.length; j++) total += x[j] * w[j]
    return { node, values: Float32Array.from(x, (value, j) => value * w[j]), at: null }
  })
  return { ...empty, how: 'matrix', shares, bias: given, total, recomputed: total }
}

function single(flow: Lstm, node: string, dim: number, step: number): Share {
  const whole = vector(flow, node, step)
  const values = new Float32Array(whole.length)
  values[dim] = whole[dim]
  return { node, values, at: dim }
}

function bent(kind: string, value: number): number {
  if (kind === 'complement') return 1 - value
  return kind === 'tanh' ? Math.tanh(value) : kind === 'sigmoid' ? 1 / (1 + Math.exp(-value)) : value
}

export interface Summand {
  node: string
  dim: number
  share: number
  value: number
}

/** The summands with the largest size, and what the others come to. */
export function largest(flow: Lstm, breakdown: Trace, step: number, most: number): { first: Summand[]; others: number; count: number } {
  const all: Summand[] = []
  for (const { node, values, at } of breakdown.shares) {
    const x = vector(flow, node, step)
    for (let dim = 0; dim < values.length; dim++)
      if (at === null ? values[dim] !== 0 : at === dim) all.push({ node, dim, share: values[dim], value: x[dim] })
  }
  all.sort((a, b) => Math.abs(b.share) - Math.abs(a.share))
  const rest = all.slice(most)
  return { first: all.slice(0, most), others: rest.reduce((sum, { share }) => sum + share, 0), count: rest.length }
}
