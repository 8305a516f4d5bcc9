import { hex, type Theme } from '../../lib/colour'
import { heatTable, level, paintHeat, stepColour, type Cells, type Window } from '../../lib/heat'
import { escape } from '../../lib/svg'
import { tokenText } from './head'

const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
const SIZE = 10.5
const PITCH = 11
const LONGEST = 14
const PAD = 6

export interface Cell {
  /** Numbers of the row and column as stored, not as shown. */
  row: number
  column: number
}

export interface Labels {
  rows: string[]
  columns: string[]
}

export interface Ink {
  ground: string
  ink: string
  soft: string
  line: string
  accent: string
}

export interface Sheet {
  cells: Cells
  labels: Labels
  /** The weight that has the last colour; of differences as far below 0 as above. */
  top: number
  /** Whether values below 0 are as telling as those above. */
  signed?: boolean
  /** Cells are as wide as high; else they fill the room there is. */
  square: boolean
  /** Lines are drawn before rows that are multiples of this, as shown; 0 for none. */
  group: number
}

/** Where columns are across the host: pixels of the plot, and the columns that are at its ends. */
export interface Across {
  x: number
  width: number
  left: number
  right: number
}

/** A matrix with labels on two canvases: cells below, labels and what is pointed at above. Zooms and pans. */
export class Matrix {
  readonly #host: HTMLElement
  readonly #base = document.createElement('canvas')
  readonly #over = document.createElement('canvas')
  readonly #resize: ResizeObserver
  #sheet: Sheet
  #window: Window
  #ink: Ink = { ground: '#fff', ink: '#000', soft: '#555', line: '#ddd', accent: '#24f' }
  #theme: Theme = 'light'
  #pointed: Cell | null = null
  #pinned: Partial<Cell> = {}
  #chosen: { rows: readonly number[]; columns: readonly number[] } = { rows: [], columns: [] }
  #asked = 0
  /** Where the cells are, in CSS pixels. */
  plot = { x: 0, y: 0, width: 0, height: 0 }
  size = { width: 0, height: 0 }
  /** Told whenever the matrix is drawn, for what stands below its columns. */
  onacross?: (across: Across) => void

  constructor(host: HTMLElement, sheet: Sheet) {
    this.#host = host
    this.#sheet = sheet
    this.#window = whole(sheet)
    for (const canvas of [this.#base, this.#over]) {
      canvas.setAttribute('aria-hidden', 'true')
      host.prepend(canvas)
    }
    host.prepend(this.#base)
    this.#resize = new ResizeObserver(() => this.#ask())
    this.#resize.observe(host)
  }

  show(sheet: Sheet, ink: Ink, theme: Theme): void {
    const same =
      sheet.cells.rows.length === this.#sheet.cells.rows.length && sheet.cells.columns.length === this.#sheet.cells.columns.length
    if (!same) this.#window = whole(sheet)
    this.#sheet = sheet
    this.#ink = ink
    this.#theme = theme
    this.#ask()
  }

  /** Lights a row and a column; what is pinned stays lit while something else is pointed at. */
  mark(pointed: Cell | null, pinned: Partial<Cell>, chosen: readonly number[] = [], bothSides = true): void {
    this.#pointed = pointed
    this.#pinned = pinned
    this.#chosen = { columns: chosen, rows: bothSides ? chosen : [] }
    this.#drawOver()
  }

  get zoomed(): boolean {
    const { top, bottom, left, right } = this.#window
    return bottom - top < this.#sheet.cells.rows.length - 1e-6 || right - left < this.#sheet.cells.columns.length - 1e-6
  }

  reset(): void {
    this.#window = whole(this.#sheet)
    this.draw()
  }

  zoomBy(factor: number, x: number, y: number): void {
    const { plot } = this
    const across = Math.min(Math.max((x - plot.x) / plot.width, 0), 1)
    const down = Math.min(Math.max((y - plot.y) / plot.height, 0), 1)
    const { rows, columns } = this.#sheet.cells
    ;[this.#window.left, this.#window.right] = zoomed(this.#window.left, this.#window.right, across, factor, columns.length)
    ;[this.#window.top, this.#window.bottom] = zoomed(this.#window.top, this.#window.bottom, down, factor, rows.length)
    this.#ask()
  }

  panBy(dx: number, dy: number): void {
    const { left, right, top, bottom } = this.#window
    const { rows, columns } = this.#sheet.cells
    const across = moved(left, right, (-dx / this.plot.width) * (right - left), columns.length)
    const down = moved(top, bottom, (-dy / this.plot.height) * (bottom - top), rows.length)
    this.#window = { left: across[0], right: across[1], top: down[0], bottom: down[1] }
    this.#ask()
  }

  /** The cell at a place of the host, or null beside the plot. */
  pick(x: number, y: number): Cell | null {
    const { plot } = this
    if (x < plot.x || y < plot.y || x >= plot.x + plot.width || y >= plot.y + plot.height) return null
    const { left, right, top, bottom } = this.#window
    const { rows, columns } = this.#sheet.cells
    const column = Math.floor(left + ((x - plot.x) / plot.width) * (right - left))
    const row = Math.floor(top + ((y - plot.y) / plot.height) * (bottom - top))
    return { row: rows[Math.min(row, rows.length - 1)], column: columns[Math.min(column, columns.length - 1)] }
  }

  /** Middle of a stored cell on screen; null when it is not shown. */
  place(cell: Cell): [number, number] | null {
    const row = indexOf(this.#sheet.cells.rows, cell.row)
    const column = indexOf(this.#sheet.cells.columns, cell.column)
    if (row < 0 || column < 0) return null
    return [this.#x(column + 0.5), this.#y(row + 0.5)]
  }

  /** What is on screen as an SVG that stands alone, with a title and a line above. */
  svg(title: string, line: string): string {
    const body = this.body()
    const { size } = this
    const head = 64
    const text = (y: number, words: string, look: string) => `<text x="16" y="${y}" ${look}>${escape(words)}</text>`
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height + head}" viewBox="0 0 ${size.width} ${size.height + head}" font-family="${escape(FONT)}">`,
      `<title>${escape(title)}</title><rect width="${size.width}" height="${size.height + head}" fill="${this.#ink.ground}"/>`,
      text(28, title, `font-size="17" font-weight="600" fill="${this.#ink.ink}"`),
      text(48, line, `font-size="12" fill="${this.#ink.soft}"`),
      `<g transform="translate(0 ${head})">${body}</g></svg>`,
    ].join('\n')
  }

  /** Cells, labels and what is chosen, from the upper left corner of the host; cells of one colour share a path. */
  body(): string {
    this.draw()
    const { plot } = this
    const text = (x: number, y: number, words: string, look: string) =>
      `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${look}>${escape(words)}</text>`
    const { labels, cells, group } = this.#sheet
    const { row: pinnedRow, column: pinnedColumn } = this.#pinned
    const look = (isLit: boolean) =>
      `font-size="${SIZE}" fill="${isLit ? this.#ink.accent : this.#ink.soft}"${isLit ? ' font-weight="600"' : ''}`
    const rules = Array.from({ length: group ? Math.ceil(cells.rows.length / group) - 1 : 0 }, (_, i) => this.#y((i + 1) * group)).filter(
      (y) => y > plot.y && y < plot.y + plot.height,
    )
    const rows = this.#beside('y', pinnedRow).map(([row, at]) =>
      text(plot.x - PAD, at + 4, cut(labels.rows[cells.rows[row]]), `${look(cells.rows[row] === pinnedRow)} text-anchor="end"`),
    )
    const columns = this.#beside('x', pinnedColumn).map(([column, at]) =>
      text(
        0,
        4,
        cut(labels.columns[cells.columns[column]]),
        `${look(cells.columns[column] === pinnedColumn)} transform="translate(${at.toFixed(1)} ${plot.y - PAD}) rotate(-90)"`,
      ),
    )
    const scale = `translate(${this.#x(0).toFixed(3)} ${this.#y(0).toFixed(3)}) scale(${(this.#x(1) - this.#x(0)).toFixed(5)} ${(this.#y(1) - this.#y(0)).toFixed(5)})`
    return [
      `<clipPath id="cells"><rect x="${plot.x}" y="${plot.y}" width="${plot.width}" height="${plot.height}"/></clipPath>`,
      `<g clip-path="url(#cells)"><g transform="${scale}" shape-rendering="crispEdges">${cellPaths(this.#sheet, this.#window, this.#theme)}</g></g>`,
      `<rect x="${plot.x - 0.5}" y="${plot.y - 0.5}" width="${plot.width + 1}" height="${plot.height + 1}" fill="none" stroke="${this.#ink.line}"/>`,
      ...rules.map(
        (y) => `<rect x="${plot.x - 1}" y="${(y - 1).toFixed(1)}" width="${plot.width + 2}" height="2" fill="${this.#ink.ground}"/>`,
      ),
      ...rows,
      ...columns,
      ...this.#framed(),
    ].join('\n')
  }

  /** The chosen row and column in frames, and the bars beside all that are chosen. */
  #framed(): string[] {
    const { plot } = this
    const span = (index: number, axis: 'x' | 'y'): [number, number] | null => {
      if (index < 0) return null
      const [least, most] = axis === 'x' ? [plot.x, plot.x + plot.width] : [plot.y, plot.y + plot.height]
      const [from, to] = axis === 'x' ? [this.#x(index), this.#x(index + 1)] : [this.#y(index), this.#y(index + 1)]
      return to <= least || from >= most ? null : [Math.max(from, least), Math.max(Math.min(to, most), Math.max(from, least) + 1)]
    }
    const box = (x: number, y: number, width: number, height: number, look: string) =>
      `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" ${look}/>`
    const [full, frame] = [`fill="${this.#ink.accent}"`, `class="chosen" fill="none" stroke="${this.#ink.accent}"`]
    const { rows, columns } = this.#sheet.cells
    const out: string[] = []
    for (const number of this.#chosen.rows) {
      const at = span(indexOf(rows, number), 'y')
      if (at) out.push(box(plot.x - 5, at[0], 4, at[1] - at[0], full))
    }
    for (const number of this.#chosen.columns) {
      const at = span(indexOf(columns, number), 'x')
      if (at) out.push(box(at[0], plot.y - 5, at[1] - at[0], 4, full))
    }
    const row = this.#pinned.row === undefined ? null : span(indexOf(rows, this.#pinned.row), 'y')
    if (row) out.push(box(plot.x - 0.5, row[0] - 0.5, plot.width + 1, row[1] - row[0] + 1, frame))
    const column = this.#pinned.column === undefined ? null : span(indexOf(columns, this.#pinned.column), 'x')
    if (column) out.push(box(column[0] - 0.5, plot.y - 0.5, column[1] - column[0] + 1, plot.height + 1, frame))
    return out
  }

  draw(): void {
    cancelAnimationFrame(this.#asked)
    this.#asked = 0
    const { clientWidth: width, clientHeight: height } = this.#host
    const { cells } = this.#sheet
    this.size = { width, height }
    const density = Math.min(globalThis.devicePixelRatio || 1, 3)
    for (const canvas of [this.#base, this.#over]) {
      canvas.width = Math.round(width * density)
      canvas.height = Math.round(height * density)
    }
    const base = this.#base.getContext('2d')
    if (!base || !width || !height || !cells.rows.length || !cells.columns.length) return
    this.#measure(base)
    base.setTransform(density, 0, 0, density, 0, 0)
    base.fillStyle = this.#ink.ground
    base.fillRect(0, 0, width, height)
    this.#drawCells(base, density)
    this.#drawOver()
    this.onacross?.({ x: this.plot.x, width: this.plot.width, left: this.#window.left, right: this.#window.right })
  }

  destroy(): void {
    cancelAnimationFrame(this.#asked)
    this.#resize.disconnect()
    this.#base.remove()
    this.#over.remove()
  }

  #ask(): void {
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.draw())
  }

  #measure(base: CanvasRenderingContext2D): void {
    const { labels, cells, square } = this.#sheet
    const { width, height } = this.size
    base.font = `${SIZE}px ${FONT}`
    const widest = (names: string[]) => Math.min(96, Math.max(18, ...names.slice(0, 600).map((name) => base.measureText(cut(name)).width)))
    const x = Math.ceil(widest(labels.rows)) + 2 * PAD
    const y = Math.ceil(widest(labels.columns)) + 2 * PAD
    const [wide, high] = [Math.max(width - x - 2, 10), Math.max(height - y - 2, 10)]
    this.plot = { x, y, width: wide, height: high }
    if (square) {
      const cell = Math.min(wide / cells.columns.length, high / cells.rows.length, 40)
      this.plot = { x, y, width: cell * cells.columns.length, height: cell * cells.rows.length }
    }
  }

  #drawCells(base: CanvasRenderingContext2D, density: number): void {
    const { plot } = this
    const width = Math.max(Math.round(plot.width * density), 1)
    const height = Math.max(Math.round(plot.height * density), 1)
    const image = base.createImageData(width, height)
    paintHeat(
      new Uint32Array(image.data.buffer),
      width,
      height,
      this.#sheet.cells,
      this.#window,
      this.#sheet.top,
      heatTable(this.#theme, this.#sheet.signed),
    )
    base.putImageData(image, Math.round(plot.x * density), Math.round(plot.y * density))
    base.strokeStyle = this.#ink.line
    base.lineWidth = 1
    base.strokeRect(plot.x - 0.5, plot.y - 0.5, plot.width + 1, plot.height + 1)
    const { group } = this.#sheet
    if (!group) return
    base.fillStyle = this.#ink.ground
    for (let row = group; row < this.#sheet.cells.rows.length; row += group) {
      const y = this.#y(row)
      if (y > plot.y && y < plot.y + plot.height) base.fillRect(plot.x - 1, y - 1, plot.width + 2, 2)
    }
  }

  #drawLabels(over: CanvasRenderingContext2D, row: number | undefined, column: number | undefined): void {
    const { labels, cells } = this.#sheet
    over.font = `${SIZE}px ${FONT}`
    over.fillStyle = this.#ink.soft
    over.textAlign = 'right'
    for (const [index, at] of this.#beside('y', row)) {
      if (cells.rows[index] !== row) over.fillText(cut(labels.rows[cells.rows[index]]), this.plot.x - PAD, at)
    }
    for (const [index, at] of this.#beside('x', column)) {
      if (cells.columns[index] !== column) this.#upright(over, cut(labels.columns[cells.columns[index]]), at)
    }
  }

  /** The rows or columns that get a label: those that would touch the name of what is lit give way to it. */
  #beside(axis: 'x' | 'y', lit: number | undefined): [number, number][] {
    const { plot } = this
    const index = lit === undefined ? -1 : indexOf(axis === 'x' ? this.#sheet.cells.columns : this.#sheet.cells.rows, lit)
    const at = index < 0 ? NaN : axis === 'x' ? this.#x(index + 0.5) : this.#y(index + 0.5)
    const [from, to] = axis === 'x' ? [plot.x, plot.x + plot.width] : [plot.y, plot.y + plot.height]
    const all = [...this.#labelled(axis)]
    return at >= from && at <= to ? givingWay(all, index, at) : all
  }

  #upright(canvas: CanvasRenderingContext2D, text: string, x: number): void {
    canvas.save()
    canvas.translate(x, this.plot.y - PAD)
    canvas.rotate(-Math.PI / 2)
    canvas.textAlign = 'left'
    canvas.fillText(text, 0, 0)
    canvas.restore()
  }

  /** Which rows or columns get a label, so that no two are nearer than a line: about every one, every second, … */
  *#labelled(axis: 'x' | 'y'): Generator<[number, number]> {
    const { cells, labels } = this.#sheet
    const [shown, names] = axis === 'x' ? [cells.columns, labels.columns] : [cells.rows, labels.rows]
    const count = shown.length
    const place = (index: number) => (axis === 'x' ? this.#x(index + 0.5) : this.#y(index + 0.5))
    const pitch = count > 1 ? place(1) - place(0) : Infinity
    const step = Math.max(1, Math.ceil(PITCH / pitch))
    const [from, to] = axis === 'x' ? [this.plot.x, this.plot.x + this.plot.width] : [this.plot.y, this.plot.y + this.plot.height]
    for (const index of spaced(count, step, (index) => /[\p{L}\p{N}]/u.test(names[shown[index]]))) {
      const at = place(index)
      if (at >= from && at <= to) yield [index, at]
    }
  }

  #drawOver(): void {
    const over = this.#over.getContext('2d')
    if (!over || !this.size.width) return
    const density = this.#over.width / Math.max(this.size.width, 1)
    over.setTransform(density, 0, 0, density, 0, 0)
    over.clearRect(0, 0, this.size.width, this.size.height)
    over.textBaseline = 'middle'
    const row = this.#pointed?.row ?? this.#pinned.row
    const column = this.#pointed?.column ?? this.#pinned.column
    this.#drawLabels(over, row, column)
    this.#markChosen(over)
    over.font = `600 ${SIZE}px ${FONT}`
    if (row !== undefined) this.#light(over, 'row', row)
    if (column !== undefined) this.#light(over, 'column', column)
  }

  /** A short bar beside every chosen row and column. */
  #markChosen(over: CanvasRenderingContext2D): void {
    const { plot } = this
    const { rows, columns } = this.#sheet.cells
    over.fillStyle = this.#ink.accent
    for (const number of this.#chosen.rows) {
      const index = indexOf(rows, number)
      const [from, to] = [Math.max(this.#y(index), plot.y), Math.min(this.#y(index + 1), plot.y + plot.height)]
      if (index >= 0 && to > from) over.fillRect(plot.x - 5, from, 4, Math.max(to - from, 1))
    }
    for (const number of this.#chosen.columns) {
      const index = indexOf(columns, number)
      const [from, to] = [Math.max(this.#x(index), plot.x), Math.min(this.#x(index + 1), plot.x + plot.width)]
      if (index >= 0 && to > from) over.fillRect(from, plot.y - 5, Math.max(to - from, 1), 4)
    }
  }

  #light(over: CanvasRenderingContext2D, side: 'row' | 'column', number: number): void {
    const { cells, labels } = this.#sheet
    const index = indexOf(side === 'row' ? cells.rows : cells.columns, number)
    if (index < 0) return
    const { plot } = this
    const [from, to] = side === 'row' ? [this.#y(index), this.#y(index + 1)] : [this.#x(index), this.#x(index + 1)]
    const [least, most] = side === 'row' ? [plot.y, plot.y + plot.height] : [plot.x, plot.x + plot.width]
    if (to < least || from > most) return
    const [low, high] = [Math.max(from, least), Math.min(to, most)]
    over.strokeStyle = this.#ink.accent
    over.lineWidth = 1
    over.fillStyle = this.#ink.accent
    const middle = (from + to) / 2
    const name = tokenText(side === 'row' ? labels.rows[number] : labels.columns[number])
    if (side === 'row') {
      over.strokeRect(plot.x - 0.5, low - 0.5, plot.width + 1, Math.max(high - low, 1) + 1)
      over.textAlign = 'right'
      over.fillText(cut(name), plot.x - PAD, middle)
    } else {
      over.strokeRect(low - 0.5, plot.y - 0.5, Math.max(high - low, 1) + 1, plot.height + 1)
      this.#upright(over, cut(name), middle)
    }
  }

  #x(column: number): number {
    const { left, right } = this.#window
    return this.plot.x + ((column - left) / (right - left)) * this.plot.width
  }

  #y(row: number): number {
    const { top, bottom } = this.#window
    return this.plot.y + ((row - top) / (bottom - top)) * this.plot.height
  }
}

/** The cells of a window as paths in units of rows and columns, one path for every colour but the ground's. */
export function cellPaths({ cells, top, signed }: Sheet, window: Window, theme: Theme): string {
  const paths = new Map<number, string[]>()
  const [first, last] = [Math.floor(window.left), Math.min(Math.ceil(window.right), cells.columns.length)]
  for (let row = Math.floor(window.top); row < Math.min(Math.ceil(window.bottom), cells.rows.length); row++) {
    const colour = (column: number) => level(cells.values[cells.rows[row] * cells.wide + cells.columns[column]], top)
    for (let from = first; from < last;) {
      const step = colour(from)
      let to = from + 1
      while (to < last && colour(to) === step) to++
      if (step !== 0) {
        const path = paths.get(step) ?? []
        path.push(`M${from} ${row}h${to - from}v1h${from - to}z`)
        paths.set(step, path)
      }
      from = to
    }
  }
  return [...paths].map(([step, path]) => `<path fill="${hex(stepColour(step, theme, signed))}" d="${path.join('')}"/>`).join('')
}

function whole({ cells }: Sheet): Window {
  return { top: 0, bottom: cells.rows.length, left: 0, right: cells.columns.length }
}

/** The interval zoomed around a share of it, never beyond 0…most and never below four cells. */
export function zoomed(from: number, to: number, share: number, factor: number, most: number): [number, number] {
  const span = Math.min(Math.max((to - from) / factor, Math.min(4, most)), most)
  const fixed = from + share * (to - from)
  return moved(fixed - share * span, fixed + (1 - share) * span, 0, most)
}

/** The interval moved, never beyond 0…most. */
export function moved(from: number, to: number, by: number, most: number): [number, number] {
  const span = to - from
  const start = Math.min(Math.max(from + by, 0), Math.max(most - span, 0))
  return [start, start + span]
}

function indexOf(numbers: ArrayLike<number>, wanted: number): number {
  return Array.prototype.indexOf.call(numbers, wanted)
}

/** Labels and their places with the one that is lit: those that are nearer to it than a line are left out. */
export function givingWay(labelled: [number, number][], index: number, at: number): [number, number][] {
  return [...labelled.filter(([, place]) => Math.abs(place - at) >= PITCH), [index, at]]
}

function cut(name: string): string {
  const characters = Array.from(tokenText(name).trim())
  return characters.length > LONGEST ? characters.slice(0, LONGEST - 1).join('') + '…' : characters.join('')
}

/** Numbers below `count`, at least `step` apart; of those that could be next, one that says something if there is any. */
export function* spaced(count: number, step: number, says: (index: number) => boolean): Generator<number> {
  for (let index = 0; index < count;) {
    let chosen = index
    while (chosen < Math.min(index + step, count) - 1 && !says(chosen)) chosen++
    if (!says(chosen)) chosen = index
    yield chosen
    index = chosen + step
  }
}
