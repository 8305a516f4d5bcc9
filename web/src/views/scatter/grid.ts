import { bounds, type Box } from './camera'

/** Finds the points near a place without looking at all of them: rows sorted by square cells. */
export class Grid {
  readonly #plane: Float32Array
  readonly #box: Box
  readonly #cell: number
  readonly #columns: number
  readonly #rows: number
  readonly #starts: Int32Array
  readonly #sorted: Int32Array

  constructor(plane: Float32Array, perCell = 4) {
    const count = plane.length / 2
    this.#plane = plane
    this.#box = bounds(plane)
    const width = this.#box.right - this.#box.left
    const height = this.#box.top - this.#box.bottom
    const wanted = Math.max(1, count / perCell)
    // Never more cells than about `wanted` along one side, so that a map on a line stays small.
    this.#cell = Math.max(Math.sqrt((width * height) / wanted), Math.max(width, height) / wanted) || 1
    this.#columns = Math.floor(width / this.#cell) + 1
    this.#rows = Math.floor(height / this.#cell) + 1
    this.#starts = new Int32Array(this.#columns * this.#rows + 1)
    this.#sorted = new Int32Array(count)
    const cells = new Int32Array(count)
    for (let i = 0; i < count; i++) {
      cells[i] = this.#column(plane[2 * i]) + this.#row(plane[2 * i + 1]) * this.#columns
      this.#starts[cells[i] + 1]++
    }
    for (let c = 0; c < this.#starts.length - 1; c++) this.#starts[c + 1] += this.#starts[c]
    const next = this.#starts.slice()
    for (let i = 0; i < count; i++) this.#sorted[next[cells[i]]++] = i
  }

  /** The nearest row within `reach` of (x, y) that `allowed` lets through, or -1. */
  nearest(x: number, y: number, reach: number, allowed: (row: number) => boolean = () => true): number {
    let best = -1
    let least = reach * reach
    this.within({ left: x - reach, right: x + reach, bottom: y - reach, top: y + reach }, (row) => {
      const dx = this.#plane[2 * row] - x
      const dy = this.#plane[2 * row + 1] - y
      const distance = dx * dx + dy * dy
      if (distance <= least && (distance < least || best < 0 || row < best) && allowed(row)) {
        least = distance
        best = row
      }
    })
    return best
  }

  /** Calls back with every row whose cell touches the box. */
  within(box: Box, found: (row: number) => void): void {
    if (box.right < this.#box.left || box.left > this.#box.right) return
    if (box.top < this.#box.bottom || box.bottom > this.#box.top) return
    const [left, right] = [this.#column(box.left), this.#column(box.right)]
    const [bottom, top] = [this.#row(box.bottom), this.#row(box.top)]
    for (let r = bottom; r <= top; r++) {
      const row = r * this.#columns
      for (let at = this.#starts[row + left]; at < this.#starts[row + right + 1]; at++) found(this.#sorted[at])
    }
  }

  #column(x: number): number {
    return Math.min(Math.max(Math.floor((x - this.#box.left) / this.#cell), 0), this.#columns - 1)
  }

  #row(y: number): number {
    return Math.min(Math.max(Math.floor((y - this.#box.bottom) / this.#cell), 0), this.#rows - 1)
  }
}
