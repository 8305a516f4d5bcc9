/** A token or a word as every view knows it: its text, and its place in the text where it has one. */
export interface Item {
  label: string
  position: number | null
  /** Which it is of the tokens that read alike, from 1, and how many there are; not told of one that is alone. */
  nth?: readonly [at: number, of: number]
}

/** What a view's rows are, for finding items of other views among them. */
export interface Rows {
  labels: string[]
  /** Place of each row in the text; null for views of words. */
  positions: ArrayLike<number> | null
}

/**
 * One selection that all views share. It holds the items themselves, not rows of one view: each view asks
 * which of its rows they are. The view where they were chosen gets back exactly its rows.
 */
export class Link {
  items = $state.raw<readonly Item[]>([])
  focus = $state<number | null>(null)
  /** The view where the items were chosen, and its rows. */
  origin: { owner: object; rows: readonly number[] } | null = null

  set(items: readonly Item[], focus: number | null, origin: { owner: object; rows: readonly number[] } | null = null): void {
    this.origin = origin
    this.items = items
    this.focus = focus
  }

  clear(): void {
    this.set([], null)
  }

  /** The rows that were chosen in the view itself, if it was the one. */
  chosenIn(owner: object): readonly number[] | null {
    return this.origin?.owner === owner ? this.origin.rows : null
  }
}

/**
 * Finds items among a view's rows: at the same place with the same text, else everywhere the text stands. Models number
 * the tokens of a text differently; where a token stands as often as there, the second of four is the second of four,
 * also among occurrences, which have no numbers.
 */
export class Finder {
  readonly #rows: Rows
  #byLabel: Map<string, number[]> | null = null

  constructor(rows: Rows) {
    this.#rows = rows
  }

  item(row: number): Item {
    const [label, position] = [this.#rows.labels[row] ?? '', this.#rows.positions?.[row]]
    if (position === undefined || !Number.isFinite(position)) return { label, position: null }
    const places = this.#places(this.#index().get(folded(label)) ?? [])
    return { label, position, ...(places.length > 1 && { nth: [places.indexOf(position) + 1, places.length] as const }) }
  }

  find({ label, position, nth }: Item): number[] {
    const wanted = folded(label)
    const same = this.#index().get(wanted) ?? []
    const { positions } = this.#rows
    if (position === null) return same
    // occurrences stand in the order of their text, and there are as many only where it is the same
    if (!positions) return nth?.[1] === same.length ? [same[nth[0] - 1]] : same
    const places = nth ? this.#places(same) : []
    const place = nth && nth[1] === places.length ? places[nth[0] - 1] : position
    const there = same.filter((row) => positions[row] === place)
    return there.length ? there : same
  }

  /** Where these rows stand in the text, in its order; a query and a key of one token stand at one place. */
  #places(rows: readonly number[]): number[] {
    const places = rows.map((row) => this.#rows.positions![row]).filter(Number.isFinite)
    return [...new Set(places)].sort((a, b) => a - b)
  }

  #index(): Map<string, number[]> {
    if (this.#byLabel) return this.#byLabel
    const index = new Map<string, number[]>()
    this.#rows.labels.forEach((label, row) => {
      const key = folded(label)
      const rows = index.get(key)
      if (rows) rows.push(row)
      else index.set(key, [row])
    })
    return (this.#byLabel = index)
  }
}

/** Marks by which tokenisers say where words begin and go on. */
const MARKS = /^(##|▁|Ġ|␣+)|<\/w>$/g

/** A label without case, outer spaces and the marks of tokenisers, so that a token finds its word. */
export function folded(label: string): string {
  const bare = label.normalize('NFC').replace(MARKS, '').trim().toLowerCase()
  return bare || label
}
