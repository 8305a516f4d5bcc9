import { formatNumber } from '../../lib/format'
import { plainWord, type Word } from '../../lib/words'
import { forward, inverse, quantileScale, type QuantileScale } from '../../lib/quantile'
import { around, bounds, fit, pan, toScreen, toWorld, zoomAt, type Box, type Camera, type Size } from './camera'
import { Grid } from './grid'
import { placeLabels, placeNames, shorten, type PlacedLabel, type PlacedName, type Rectangle } from './labels'
import { insideOutline } from './lasso'
import type { Frame, PointLayer } from './layer'
import { LOOSE, writtenNames, type Scatter } from './model'
import { containing, reach, type Outlines } from './outlines'
import {
  drawEllipses,
  drawRestarts,
  drawJoined,
  drawLabels,
  drawLasso,
  drawMoves,
  drawNames,
  drawNeighbours,
  drawPeriods,
  drawRings,
  drawShades,
  drawThread,
  drawTicks,
  FONT,
  LABEL_SIZE,
  NAME_FONT,
  NAME_SIZE,
  periodBoxes,
  type Marks,
  type Move,
  type Paper,
  type Scene,
  type Tick,
} from './painters'
import { arcs, type Arc } from './partners'
import type { Damage } from './truth'
import { pointLayer } from './points'
import { CanvasPoints } from './points-canvas'
import { axes, FIRST_TURN, middle, orbit, turned, type Turn } from './projection'
import type { Style } from './style'

/** Up to this many points, labels look for places where they cover few of them, and points have an edge. */
const CROWD = 4000
/** Up to so many points each has its label, if need be away from it on a line. */
const FEW = 60
/** Pixels from one ellipse's middle to another's up to which they lie on top of each other. */
const STACKED = 12
/** Lines to another map that are drawn at once, those of what moved most: all of them would be a tangle. */
const MOVES = 40
/** Milliseconds from true distances to equal quantiles, and the steps that ticks make there. */
const MOVE = 600
const TICKS = 10
/** Points drawn at most while the map moves, where they are painted without a graphics card; milliseconds until it rests. */
const WHILE_MOVING = 40_000
const REST = 160
/** On a busy machine all points take longer than a hand pauses: so many times as long as they last took is a rest, too. */
const LONGER = 3

/** What is on screen: the world point in the middle, and the zoom relative to the whole map. */
export interface Place {
  x: number
  y: number
  zoom: number
}

/**
 * The drawn part of the scatter view: points on one canvas; labels, marks and lasso on another above it.
 * It knows nothing of Svelte; the component tells it what changed, and it draws at the next frame.
 */
export class Stage {
  camera: Camera = { x: 0, y: 0, scale: 1 }
  size: Size = { width: 0, height: 0 }
  plane: Float32Array
  near: Float32Array | null = null
  /** Labels of the last frame, for exports and tests. */
  shown: PlacedLabel[] = []
  /** Where the last frame has the names of periods. */
  #written: Rectangle[] = []
  /** Names of regions of the last frame. */
  named: PlacedName[] = []
  /** Called when the plane itself changed, as when a 3-D map is turned. */
  onturn: () => void = () => {}
  /** Called when the reader moved or zoomed. */
  onmove: () => void = () => {}

  readonly #scatter: Scatter
  readonly #writtenNames: string[]
  readonly #host: HTMLElement
  readonly #overlay = document.createElement('canvas')
  readonly #text = this.#overlay.getContext('2d')
  readonly #widths = new Map<string, number>()
  readonly #resize: ResizeObserver
  #layer: PointLayer
  #grid: Grid | null = null
  #home: Box
  #turn: Turn = FIRST_TURN
  #centre = [0, 0, 0]
  #axes: [number, number] = [0, 1]
  /** The plane with its own distances; `plane` is it, or on the way to equal quantiles. */
  #flat: Float32Array
  /** How far on the way, from 0 to 1, and φ of both axes. */
  #way = 0
  #scales: [QuantileScale, QuantileScale] | null = null
  #moving = 0
  #style: Style | null = null
  #paper: Paper = { ground: '#ffffff', ink: '#1b1d21', accent: '#315ed7' }
  #marks: Marks = { hovered: null, focus: null, neighbours: [], selected: [], matches: [] }
  #outline: number[] = []
  #named = true
  /** Rows that a thin line runs through; null when it is not shown. */
  #thread: Int32Array | null = null
  #words: readonly Word[] = []
  #joinedLabels: string[] | null = null
  /** Where other runs put each row, one plane after the other; null when they are not shown. */
  #restarts: Float32Array | null = null
  /** Ellipses around the points, on a canvas above theirs (which is opaque) that is made when there are some. */
  #outlines: Outlines | null = null
  #damage: Damage | null = null
  /** Where rows lie on another map, and whether all lines to there are drawn or only those of what is chosen. */
  #elsewhere: { at: Float32Array; all: boolean } | null = null
  #ellipses: HTMLCanvasElement | null = null
  #asked = 0
  #hurried = false
  /** Milliseconds that the last drawing of all points took. */
  #whole = 0
  #resting: ReturnType<typeof setTimeout> | undefined
  #preparing: ReturnType<typeof setTimeout> | undefined
  #expected: Style | null = null
  /** Points are drawn anew only when they changed, not for every hover. */
  #stale = true

  constructor(host: HTMLElement, scatter: Scatter) {
    this.#host = host
    this.#scatter = scatter
    this.#writtenNames = writtenNames(scatter)
    this.#layer = pointLayer(() => this.#withoutWebgl())
    this.#layer.canvas.className = 'points'
    this.#overlay.className = 'labels-layer'
    for (const canvas of [this.#layer.canvas, this.#overlay]) canvas.setAttribute('aria-hidden', 'true')
    host.prepend(this.#layer.canvas, this.#overlay)
    if (scatter.dims === 3) this.#centre = middle(scatter.at)
    this.plane = this.#flat = this.#project()
    // two maps that are compared have one frame, so that both ends of a line between them are seen
    const boxes = [this.#flat, ...(scatter.elsewhere ? [scatter.elsewhere.at] : [])].map(bounds)
    this.#home = boxes.reduce(around)
    this.#resize = new ResizeObserver(() => this.#measure())
    this.#resize.observe(host)
    this.#measure()
  }

  get renderer(): 'webgl' | 'canvas' {
    return this.#layer.kind
  }

  get turns(): boolean {
    return this.#scatter.dims === 3
  }

  /** Zoom relative to the whole map in view. */
  get zoom(): number {
    return this.camera.scale / this.#fitted().scale
  }

  dress(style: Style, paper: Paper): void {
    this.#style = style
    this.#paper = paper
    this.#layer.dress(style, this.#scatter.rings)
    this.ask()
  }

  /** Write names beside all points there is room for, or only beside what is pointed at or chosen. */
  name(all: boolean): void {
    if (all === this.#named) return
    this.#named = all
    this.ask(false)
  }

  /** What is pointed at, chosen and lit. */
  get marks(): Marks {
    return this.#marks
  }

  mark(marks: Marks): void {
    this.#marks = marks
    this.ask(false)
  }

  /** Draw ellipses around the points, or with null the points alone. */
  outline(outlines: Outlines | null): void {
    if (outlines === this.#outlines) return
    const first = outlines !== null && this.#ellipses === null
    this.#outlines = outlines
    if (first) {
      const whole = this.#fitted()
      const still = this.camera.x === whole.x && this.camera.y === whole.y && this.camera.scale === whole.scale
      this.#ellipses = document.createElement('canvas')
      this.#ellipses.className = 'outlines'
      this.#ellipses.setAttribute('aria-hidden', 'true')
      this.#overlay.before(this.#ellipses)
      const { long } = outlines
      const corners = new Float32Array(4 * long.length)
      for (let row = 0; row < long.length; row++) {
        const [along, up] = reach(outlines, row)
        const [x, y] = [this.#flat[2 * row], this.#flat[2 * row + 1]]
        corners.set([x - along, y - up, x + along, y + up], 4 * row)
      }
      this.#home = bounds(corners)
      this.#measure()
      // A reader who comes back to a part of the map is left there.
      if (still) this.camera = this.#fitted()
    }
    this.ask()
  }

  get outlines(): Outlines | null {
    return this.#outlines
  }

  /** Show what `place` says, in the same words: a world point in the middle and the zoom relative to the whole. */
  restore({ x, y, zoom }: Place): void {
    this.camera = { x, y, scale: zoom * this.#fitted().scale }
    this.ask()
  }

  /** What is on screen whatever the window's size; null for the whole map. */
  get place(): Place | null {
    const whole = this.#fitted()
    const near = (a: number, b: number) => Math.abs(a - b) * this.camera.scale < 1
    if (near(this.camera.x, whole.x) && near(this.camera.y, whole.y) && Math.abs(this.zoom - 1) < 1e-3) return null
    return { x: this.camera.x, y: this.camera.y, zoom: this.zoom }
  }

  /** Show where other runs put the points, as planes of the same rows one after the other; null hides them. */
  showRestarts(restarts: Float32Array | null): void {
    this.#restarts = restarts
    this.ask(false)
  }

  /** Draw a thin line through these rows, one after the other; null hides it. */
  thread(rows: Int32Array | null): void {
    this.#thread = rows
    this.ask(false)
  }

  /** Write these words once, at their first piece, with a line through all of their pieces; none for tokens as they are. */
  join(words: readonly Word[]): void {
    if (words === this.#words) return
    this.#words = words
    this.#joinedLabels = null
    if (words.length) {
      this.#joinedLabels = this.#scatter.names.map(plainWord)
      for (const { tokens, text } of words) tokens.forEach((row, i) => (this.#joinedLabels![row] = i ? '' : text))
    }
    this.ask(false)
  }

  /** Where the lines through the pieces of words run on screen, for exports and tests. */
  joined(): [number, number][][] {
    return this.#words.map(({ tokens }) => tokens.filter((row) => this.#isVisible(row)).map((row) => this.screen(row)))
  }

  /** Shade what the layout tore and glued; null shades nothing. */
  shade(damage: Damage | null): void {
    if (damage === this.#damage) return
    this.#damage = damage
    this.ask(false)
  }

  /** Draw lines to where rows lie on another map: from all, or from what is chosen alone; null draws none. */
  move(elsewhere: { at: Float32Array; all: boolean } | null): void {
    this.#elsewhere = elsewhere
    this.ask(false)
  }

  /** The lines to another map, for the painter, exports and tests; stretched axes have no place for them. */
  moves(): Move[] {
    if (!this.#elsewhere || this.#way > 0 || !this.#style) return []
    const { at, all } = this.#elsewhere
    const chosen = new Set([...this.#marks.selected, ...[this.#marks.hovered, this.#marks.focus].filter((row) => row !== null)])
    const rows = Array.from(this.#style.order).filter((row) => chosen.has(row) || (all && !chosen.size))
    const far = (row: number) => Math.hypot(at[2 * row] - this.plane[2 * row], at[2 * row + 1] - this.plane[2 * row + 1])
    const drawn = chosen.size ? rows : rows.sort((a, b) => far(b) - far(a) || a - b).slice(0, MOVES)
    return drawn.map((row) => {
      const to = toScreen(this.camera, this.size, at[2 * row], at[2 * row + 1])
      return { row, from: this.screen(row), to, isChosen: chosen.has(row) }
    })
  }

  /** Where the thread runs on screen, for exports and tests; empty when it is not shown. */
  threaded(): [number, number][] {
    return Array.from(this.#thread ?? [])
      .filter((row) => this.#isVisible(row))
      .map((row) => this.screen(row))
  }

  /** The arcs to the partners of what is in focus, for exports and tests. */
  arcs(): Arc[] {
    const { focus, strands } = this.#marks
    if (focus === null || !strands) return []
    return arcs(
      focus,
      strands.filter(({ row }) => this.#isVisible(row)),
      (row) => this.screen(row),
    )
  }

  reset(): void {
    this.camera = this.#fitted()
    this.onmove()
    if (this.turns) {
      this.#turn = FIRST_TURN
      this.#placed()
    }
    this.ask()
  }

  panBy(dx: number, dy: number): void {
    this.#hurry()
    this.camera = pan(this.camera, dx, dy)
    this.onmove()
    this.ask()
  }

  zoomBy(factor: number, x = this.size.width / 2, y = this.size.height / 2): void {
    this.#hurry()
    const whole = this.#fitted().scale
    this.camera = zoomAt(this.camera, this.size, x, y, factor, [whole / 8, whole * 20_000])
    this.onmove()
    this.ask()
  }

  /** Turn a 3-D map by a drag of so many pixels. */
  turnBy(dx: number, dy: number): void {
    this.#turn = turned(this.#turn, dx * 0.008, dy * 0.008)
    this.#placed()
  }

  showAxes(first: number, second: number): void {
    this.#axes = [first, second]
    this.#home = bounds(axes(this.#scatter.at, this.#scatter.dims, first, second))
    this.#placed()
    this.reset()
  }

  /** Move to axes on which k + 1 quantiles are equally far apart, or with null back to true distances. */
  stretch(k: number | null, gradually: boolean): void {
    cancelAnimationFrame(this.#moving)
    const target = k === null ? 0 : 1
    if (k !== null && this.#scatter.count) {
      const column = (axis: number) => Float32Array.from({ length: this.#scatter.count }, (_, i) => this.#flat[2 * i + axis])
      this.#scales = [quantileScale(column(0), k), quantileScale(column(1), k)]
    }
    const from = this.#way
    const start = performance.now()
    const step = (now: number) => {
      const share = gradually && from !== target ? Math.min(Math.max((now - start) / MOVE, 0), 1) : 1
      const eased = share < 0.5 ? 2 * share * share : 1 - 2 * (1 - share) ** 2
      this.#way = from + (target - from) * eased
      this.#warp()
      this.draw()
      if (share < 1) this.#moving = requestAnimationFrame(step)
    }
    step(start)
  }

  /** Where the ticks of rescaled axes stand on screen, and what they say; none on true axes. */
  ticks(): { across: Tick[]; up: Tick[] } | null {
    if (!this.#scales || this.#way === 0) return null
    const [across, up] = this.#scales.map((scale, axis) =>
      Array.from({ length: TICKS + 1 }, (_, i): Tick => {
        const value = inverse(scale, i / TICKS)
        const world = this.#between(axis, value)
        return { at: toScreen(this.camera, this.size, world, world)[axis], text: formatNumber(value) }
      }).filter(({ at }) => at >= 0 && at <= (axis ? this.size.height : this.size.width)),
    )
    return { across, up }
  }

  /** Bring a row to the middle if it is not inside the picture. */
  reveal(row: number): void {
    const [x, y] = this.screen(row)
    const margin = Math.min(20, this.size.width / 20)
    const inside = x > margin && y > margin && x < this.size.width - margin && y < this.size.height - margin
    if (!inside) this.camera = { ...this.camera, x: this.plane[2 * row], y: this.plane[2 * row + 1] }
    this.ask()
  }

  screen(row: number): [number, number] {
    return toScreen(this.camera, this.size, this.plane[2 * row], this.plane[2 * row + 1])
  }

  /** The visible row nearest to a place on screen, or -1. */
  pick(x: number, y: number): number {
    const [worldX, worldY] = toWorld(this.camera, this.size, x, y)
    const reach = (Math.max(this.radius, 4) + 8) / this.camera.scale
    const near = this.#indexed().nearest(worldX, worldY, reach, (row) => this.#isVisible(row))
    if (near >= 0 || !this.#outlines) return near
    return containing(this.#outlines, this.plane, worldX, worldY, (row) => this.#isVisible(row))
  }

  lassoTo(x: number, y: number): void {
    const last = this.#outline.length - 2
    if (last >= 0 && Math.hypot(this.#outline[last] - x, this.#outline[last + 1] - y) < 2) return
    this.#outline.push(x, y)
    this.ask(false)
  }

  /** Ends the lasso and gives the visible rows inside it. */
  lassoEnd(): number[] {
    const outline = new Float32Array(this.#outline.length)
    for (let i = 0; i < outline.length; i += 2) {
      const [x, y] = toWorld(this.camera, this.size, this.#outline[i], this.#outline[i + 1])
      outline.set([x, y], i)
    }
    this.#outline = []
    this.ask(false)
    return insideOutline(outline, this.plane, this.#indexed(), (row) => this.#isVisible(row))
  }

  /** Points grow slowly with zoom; crowds are drawn small. */
  get radius(): number {
    // Inside ellipses a point is only their middle.
    if (this.#outlines) return 2
    const whole = Math.min(5, Math.max(1.1, 9.5 - 1.75 * Math.log10(Math.max(this.#scatter.count, 1) + 10)))
    return Math.min(Math.max(whole * Math.max(this.zoom, 0.5) ** 0.3, 0.8), 7)
  }

  get edge(): number {
    return this.#scatter.count <= CROWD ? 0.75 : 0
  }

  /** Draw at the next frame; `points` is false when only labels and marks changed. */
  ask(points = true): void {
    this.#stale ||= points
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.draw())
  }

  draw(): void {
    cancelAnimationFrame(this.#asked)
    this.#asked = 0
    if (!this.#style || !this.size.width || !this.size.height) return
    const { ground, ink } = this.#paper
    const { camera, size, radius, edge } = this
    if (this.#stale) {
      this.#drawOutlines()
      const most = this.#hurried ? WHILE_MOVING : Infinity
      const frame = { camera: { ...camera }, size, density: this.#density(), radius, edge, ground, ink, most }
      const begun = performance.now()
      this.#layer.draw(frame)
      if (!this.#hurried) this.#whole = performance.now() - begun
      this.#prepare(frame)
    }
    this.#stale = false
    this.#drawOverlay()
  }

  /** A style that is likely to come: what it shows is made ready when the page has time, at every place of the map. */
  expect(style: Style | null): void {
    this.#expected = style
    if (style) this.ask()
  }

  #prepare(frame: Frame): void {
    clearTimeout(this.#preparing)
    const style = this.#expected
    if (!style || this.#hurried) return
    this.#preparing = setTimeout(() => this.#expected === style && this.#layer.prepare?.(style, frame), REST)
  }

  /** While the reader moves, a sample of a large map is drawn; all of it once the hand rests. */
  #hurry(): void {
    if (this.#scatter.count <= WHILE_MOVING) return
    this.#hurried = true
    clearTimeout(this.#resting)
    this.#resting = setTimeout(
      () => {
        this.#hurried = false
        this.ask()
      },
      Math.max(REST, LONGER * this.#whole),
    )
  }

  destroy(): void {
    clearTimeout(this.#resting)
    clearTimeout(this.#preparing)
    cancelAnimationFrame(this.#asked)
    cancelAnimationFrame(this.#moving)
    this.#resize.disconnect()
    this.#layer.destroy()
    this.#layer.canvas.remove()
    this.#overlay.remove()
    this.#ellipses?.remove()
  }

  #drawOutlines(): void {
    const paint = this.#ellipses?.getContext('2d')
    if (!paint) return
    const density = this.#density()
    paint.setTransform(density, 0, 0, density, 0, 0)
    paint.clearRect(0, 0, this.size.width, this.size.height)
    drawEllipses(paint, this.#scene)
  }

  /** What the painters of this frame are told. */
  get #scene(): Scene {
    const { camera, size, radius } = this
    return {
      camera,
      size,
      radius,
      count: this.#scatter.count,
      style: this.#style!,
      marks: this.#marks,
      paper: this.#paper,
      outlines: this.#outlines,
      screen: (row) => this.screen(row),
      isVisible: (row) => this.#isVisible(row),
      isLoose: (row) => this.isLoose(row),
    }
  }

  #drawOverlay(): void {
    const text = this.#text
    if (!text) return
    const density = this.#density()
    text.setTransform(density, 0, 0, density, 0, 0)
    text.clearRect(0, 0, this.size.width, this.size.height)
    const scene = this.#scene
    // On stretched axes another restart has no place: φ belongs to this run's quantiles.
    if (this.#restarts && this.#way === 0) drawRestarts(text, scene, this.#restarts)
    if (this.#damage) drawShades(text, scene, this.#damage)
    if (this.#thread) drawThread(text, scene, this.#thread)
    drawMoves(text, scene, this.moves())
    drawJoined(text, scene, this.joined())
    drawNeighbours(text, scene)
    drawRings(text, scene)
    // Names and periods have their places on true axes alone.
    const isTrue = this.#way === 0 && !this.turns
    this.#written = isTrue ? periodBoxes(scene, this.#scatter.periods, (words) => this.measure(words)) : []
    this.named = isTrue ? this.#names() : []
    this.shown = this.#labels()
    drawLabels(text, scene, this.shown)
    if (isTrue && this.#scatter.periods.length) drawPeriods(text, scene, this.#scatter.periods)
    drawNames(text, scene, this.named)
    drawLasso(text, scene, this.#outline)
    const ticks = this.ticks()
    if (ticks) drawTicks(text, scene, ticks, this.#way)
  }

  #names(): PlacedName[] {
    const { regions } = this.#scatter
    const { selected, matches } = this.#marks
    // While something is searched or selected, its labels alone are wanted.
    if (!regions.length || matches.length > 0 || selected.length > 1) return []
    const text = this.#text
    if (text) text.font = NAME_FONT
    return placeNames(
      regions,
      (index) => toScreen(this.camera, this.size, regions[index].x, regions[index].y),
      (words) => text?.measureText(words).width ?? words.length * 8,
      { ...this.size, lineHeight: NAME_SIZE + 4, air: 10 },
      this.#written,
    )
  }

  #labels(): PlacedLabel[] {
    const { focus, hovered, neighbours, selected, matches } = this.#marks
    const { labelOrder, rings } = this.#scatter
    const labels = this.#joinedLabels ?? this.#writtenNames
    const first = [hovered, focus].filter((row) => row !== null)
    const seen = new Set<number>()
    const isVisible = (row: number) => this.#isVisible(row)
    const someMarked = selected.length > 0 || matches.length > 0
    const named = this.#named
    function* wanted(): Generator<number> {
      for (const rows of [first, matches, neighbours, selected])
        for (const row of rows) {
          if (seen.has(row) || !isVisible(row)) continue
          seen.add(row)
          yield row
        }
      if (!named) return
      // While something is searched or selected, the other labels would only be in the way.
      if (someMarked && (matches.length > 0 || selected.length > 1)) return
      if (rings) for (const row of labelOrder) if (rings[row] && !seen.has(row) && isVisible(row)) yield row
      for (const row of labelOrder) if (!rings?.[row] && !seen.has(row) && isVisible(row)) yield row
    }
    return placeLabels(
      wanted(),
      (row) => this.screen(row),
      labels,
      (text) => this.measure(text),
      {
        ...this.size,
        gap: this.radius + 4,
        lineHeight: LABEL_SIZE + 3,
        air: this.#scatter.count > 5000 ? 14 : 8,
        most: 300,
        budget: 5000,
        taken: [...this.#written, ...this.named.map(({ box }) => box)],
        all: this.#scatter.count <= FEW && !this.outlines,
        // ellipses of one place are one shape on the screen, of which a single name would say too little
        stacked: this.outlines ? STACKED : undefined,
        covered: this.#scatter.count <= CROWD ? (box) => this.#covered(box) : undefined,
      },
    )
  }

  #covered(box: Rectangle): number {
    const [left, top] = toWorld(this.camera, this.size, box[0], box[1])
    const [right, bottom] = toWorld(this.camera, this.size, box[2], box[3])
    let count = 0
    this.#indexed().within({ left, right, bottom, top }, (row) => {
      const [x, y] = [this.plane[2 * row], this.plane[2 * row + 1]]
      if (x > left && x < right && y > bottom && y < top && this.#isVisible(row)) count++
    })
    return count
  }

  /** Width of a label in pixels; measured once per text. */
  measure(label: string): number {
    const text = shorten(label)
    let width = this.#widths.get(text)
    if (width === undefined) {
      if (this.#text) this.#text.font = `${LABEL_SIZE}px ${FONT}`
      width = this.#text?.measureText(text).width ?? text.length * 6.5
      this.#widths.set(text, width)
    }
    return width
  }

  /** The other rows whose ellipses lie on top of this one's on the screen. */
  stackedOn(row: number): number[] {
    if (!this.#outlines) return []
    const [x, y] = this.screen(row)
    const isHere = (other: number) => {
      const [ox, oy] = this.screen(other)
      return other !== row && this.#isVisible(other) && Math.hypot(ox - x, oy - y) <= STACKED
    }
    return Array.from({ length: this.#scatter.count }, (_, other) => other).filter(isHere)
  }

  /** Whether the place of a point says little. */
  isLoose(row: number): boolean {
    return this.#scatter.rings?.[row] === LOOSE
  }

  #isVisible(row: number): boolean {
    return this.#style === null || this.#style.visible[row] === 1
  }

  #indexed(): Grid {
    return (this.#grid ??= new Grid(this.plane))
  }

  #project(): Float32Array {
    const { at, dims } = this.#scatter
    if (!this.turns) return axes(at, dims, ...this.#axes)
    const { plane, near } = orbit(at, this.#centre, this.#turn)
    this.near = near
    return plane
  }

  #placed(): void {
    this.#flat = this.#project()
    this.#warp()
    this.onturn()
    this.ask()
  }

  #warp(): void {
    this.plane = this.#flat
    if (this.#scales && this.#way > 0) {
      this.plane = new Float32Array(this.#flat.length)
      for (let i = 0; i < this.plane.length; i++) this.plane[i] = this.#between(i % 2, this.#flat[i])
    }
    this.#grid = null
    this.#stale = true
    this.#layer.place(this.plane)
  }

  /** A coordinate between its true place and its share of the stage, as far as the way has gone. */
  #between(axis: number, value: number): number {
    const whole = this.#fitted()
    // Beside the ticks there must be room for labels.
    const inset = axis ? this.#margin() : Math.min(84, this.size.width / 8)
    const span = ((axis ? this.size.height : this.size.width) - 2 * inset) / whole.scale
    const target = (axis ? whole.y : whole.x) + (forward(this.#scales![axis], value) - 0.5) * span
    return value + (target - value) * this.#way
  }

  #margin(): number {
    return Math.min(44, this.size.width / 12)
  }

  #fitted(): Camera {
    return fit(this.#home, this.size, this.#margin())
  }

  #density(): number {
    return Math.min(globalThis.devicePixelRatio || 1, 3)
  }

  #measure(): void {
    const { clientWidth: width, clientHeight: height } = this.#host
    const first = this.size.width === 0
    const before = this.#fitted().scale
    this.size = { width, height }
    for (const canvas of [this.#layer.canvas, this.#overlay, this.#ellipses]) {
      if (!canvas) continue
      canvas.width = Math.round(width * this.#density())
      canvas.height = Math.round(height * this.#density())
    }
    this.#stale = true
    if (!width || !height) return
    this.#warp()
    if (first) {
      this.camera = this.#fitted()
    } else {
      this.camera = { ...this.camera, scale: (this.camera.scale * this.#fitted().scale) / before }
    }
    this.draw()
  }

  /** The graphics card went away (sleep, driver reset): go on with painted pixels. */
  #withoutWebgl(): void {
    const gone = this.#layer.canvas
    this.#layer = new CanvasPoints()
    this.#layer.canvas.className = 'points'
    this.#layer.canvas.setAttribute('aria-hidden', 'true')
    this.#layer.canvas.width = gone.width
    this.#layer.canvas.height = gone.height
    gone.replaceWith(this.#layer.canvas)
    this.#layer.place(this.plane)
    if (this.#style) this.#layer.dress(this.#style, this.#scatter.rings)
    this.ask()
  }
}
