import { vector, type Lstm } from './model'

/** What one layer of an LSTM does with its cell at a step. */
export interface Memory {
  layer: number
  units: number
  /** Length of what is kept of the cell, as a share of the cell before; NaN where that was empty. */
  kept: number
  /** Units whose forget gate, and whose output gate, is more open than shut. */
  keeping: number
  showing: number
  /** The length of what is added, as a share of that and of what is kept. */
  added: number
}

const OPEN = 0.5

/** What every layer keeps of its cell at a step, adds to it, and shows of it; nothing of a GRU, which has no cell. */
export function memories(flow: Lstm, step: number): Memory[] {
  if (flow.model !== 'lstm') return []
  return Array.from({ length: flow.layers }, (_, layer) => {
    const of = (name: string) => vector(flow, `l${layer}.${name}`, step)
    const [before, kept, added] = ['cell_before', 'forget_product', 'remember_product'].map((name) => length(of(name)))
    return {
      layer,
      units: of('forget').length,
      kept: before > 0 ? kept / before : NaN,
      keeping: open(of('forget')),
      showing: open(of('output')),
      added: kept + added > 0 ? added / (kept + added) : 0,
    }
  })
}

function length(values: Float32Array): number {
  return Math.hypot(...values)
}

function open(gate: Float32Array): number {
  return gate.filter((value) => value > OPEN).length
}
