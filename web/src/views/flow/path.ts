import type { Stream } from './stream'

/** What one token reads from another in one layer, by all heads whose edges pass the threshold. */
export interface Edge {
  layer: number
  from: number
  to: number
  importance: number
  heads: { head: number; importance: number }[]
}

export interface Path {
  edges: Edge[]
  mlps: { layer: number; token: number; importance: number }[]
  /** Per token the first and the last layer where it is on the path. */
  spans: Map<number, [number, number]>
}

/** All that leads to the last node of a token by edges of at least this importance: the graph of Ferrando and Voita. */
export function pathTo(stream: Stream, token: number, threshold: number): Path {
  const ends = stream.arrays['route_heads'].data as Int32Array
  const importance = stream.arrays['route_importance'].data as Float32Array
  const into = new Map<number, number[]>()
  const count = stream.tokens.length
  for (let edge = 0; edge < importance.length; edge++) {
    if (importance[edge] < threshold) continue
    const key = ends[4 * edge] * count + ends[4 * edge + 3]
    const known = into.get(key)
    if (known) known.push(edge)
    else into.set(key, [edge])
  }
  const path: Path = { edges: [], mlps: [], spans: new Map() }
  let reached = new Set([token])
  const at = (name: string, row: number, of: number) => stream.arrays[name].data[row * count + of]
  for (let layer = stream.layers - 1; layer >= 0 && reached.size; layer--) {
    const further = new Set<number>()
    for (const to of [...reached].sort((a, b) => a - b)) {
      path.spans.set(to, [layer, path.spans.get(to)?.[1] ?? layer])
      const added = at('route_mlps', layer, to)
      if (added >= threshold) path.mlps.push({ layer, token: to, importance: added })
      if (at('route_residual', 2 * layer + 1, to) >= threshold) further.add(to)
      const edges = new Map<number, Edge>()
      for (const edge of into.get(layer * count + to) ?? []) {
        const from = ends[4 * edge + 2]
        const joined = edges.get(from) ?? { layer, from, to, importance: 0, heads: [] }
        joined.importance += importance[edge]
        joined.heads.push({ head: ends[4 * edge + 1], importance: importance[edge] })
        edges.set(from, joined)
        further.add(from)
      }
      for (const edge of edges.values()) {
        edge.heads.sort((a, b) => b.importance - a.importance)
        path.edges.push(edge)
      }
    }
    reached = further
  }
  for (const token of reached) path.spans.set(token, [0, path.spans.get(token)?.[1] ?? 0])
  return path
}

/** About the width of a letter of a name, and what parts two names, in pixels. */
const [LETTER, APART] = [6, 5]

const wide = (names: string[]) => names.reduce((sum, name) => sum + LETTER * name.length + APART, -APART)

/** How many names, in their order, stand within so many pixels; where not all do, a “…” for the rest has room too. */
export function fitting(names: string[], room: number): number {
  if (wide(names) <= room) return names.length
  let count = names.length - 1
  while (count > 0 && wide([...names.slice(0, count), '…']) > room) count--
  return count
}

/** What stands for so many names that have no room behind those that have: in words where these fit, no number that reads like an effect. */
export function restOf(shown: string[], left: number, room: number): string {
  const said = shown.length ? `and ${left} more` : `${left} ${left === 1 ? 'part' : 'parts'}`
  return wide([...shown, said]) <= room ? said : '…'
}
