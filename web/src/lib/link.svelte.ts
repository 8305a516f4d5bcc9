/** A token or a word as every view knows it: its text, and its place in the text where it has one. */
export interface Item {
  label: string
  position: number | null
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

/** Finds items among a view's rows: at the same place with the same text, else everywhere the text stands. */
export class Finder {
  readonly #rows: Rows
  #byLabel: Map<string, number[]> | null = null

  constructor(rows: Rows) {
    this.#rows = rows
  }

  item(row: number): Item {
    const position = this.#rows.positions?.[row]
    return { label: this.#rows.labels[row] ?? '', position: position === undefined || !Number.isFinite(position) ? null : position }
  }

  find({ label, position }: Item): number[] {
    const wanted = folded(label)
    const same = this.#index().get(wanted) ?? []
    const { positions } = this.#rows
    if (position === null || !positions) return same
    const there = same.filter((row) => positions[row] === position)
    return there.length ? there : same
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
