/** The chosen rows, in the order they were chosen, and the one whose neighbours are shown. */
export class Selection {
  rows = $state.raw<readonly number[]>([])
  focus = $state<number | null>(null)

  /** Choose these rows and nothing else; a single one also gets the focus. */
  set(rows: readonly number[]): void {
    this.rows = rows
    this.focus = rows.length === 1 ? rows[0] : null
  }

  /** Add a row, or take it out if it is chosen already. */
  toggle(row: number): void {
    const without = this.rows.filter((other) => other !== row)
    const added = without.length === this.rows.length
    this.rows = added ? [...this.rows, row] : without
    this.focus = added ? row : this.rows.length === 1 ? this.rows[0] : null
  }

  clear(): void {
    this.set([])
  }
}
