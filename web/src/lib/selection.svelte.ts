import { Finder, Link, type Rows } from './link.svelte'

/**
 * The chosen rows of one view, in the order they were chosen, and the one whose neighbours are shown. Given a
 * link, they are the rows of what is chosen in any view, and choosing here chooses everywhere.
 */
export class Selection {
  readonly #link: Link
  readonly #finder: Finder | null

  constructor(link?: Link, rows?: Rows) {
    this.#link = link ?? new Link()
    this.#finder = rows ? new Finder(rows) : null
  }

  readonly #found = $derived.by(() => {
    const { items } = this.#link
    const own = this.#link.chosenIn(this)
    if (own) return { rows: own, focus: this.#link.focus === null ? null : (own[this.#link.focus] ?? null) }
    const lists = items.map((item) => this.#finder?.find(item) ?? [])
    const focused = this.#link.focus === null ? [] : (lists[this.#link.focus] ?? [])
    return { rows: [...new Set(lists.flat())], focus: focused.length === 1 ? focused[0] : null }
  })

  get rows(): readonly number[] {
    return this.#found.rows
  }

  get focus(): number | null {
    return this.#found.focus
  }

  /** Whether what is chosen is one word, which stands several times here. */
  get isWord(): boolean {
    return this.#link.items.length === 1 && this.rows.length > 1
  }

  /** Show the neighbours of a chosen row; one that is not chosen yet is added. */
  set focus(row: number | null) {
    const rows = row === null || this.rows.includes(row) ? this.rows : [...this.rows, row]
    this.#choose(rows, row)
  }

  /** Choose these rows and nothing else; a single one also gets the focus. */
  set(rows: readonly number[]): void {
    this.#choose(rows, rows.length === 1 ? rows[0] : null)
  }

  /** Add a row, or take it out if it is chosen already. */
  toggle(row: number): void {
    const without = this.rows.filter((other) => other !== row)
    const added = without.length === this.rows.length
    const rows = added ? [...this.rows, row] : without
    this.#choose(rows, added ? row : rows.length === 1 ? rows[0] : null)
  }

  clear(): void {
    this.#link.clear()
  }

  #choose(rows: readonly number[], focus: number | null): void {
    const at = focus === null ? -1 : rows.indexOf(focus)
    const items = rows.map((row) => this.#finder?.item(row) ?? { label: '', position: row })
    this.#link.set(items, at < 0 ? null : at, { owner: this, rows })
  }
}
