import { toScreen, type Camera, type Size } from './camera'
import type { PlacedLabel } from './labels'
import type { Outlines } from './outlines'
import { arcs, crossOf, strandLook, type Strand } from './partners'
import type { Style } from './style'
import type { Damage } from './truth'

export const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
export const LABEL_SIZE = 12
/** How lines are drawn whose look is shared with saved pictures. */
export const DASH = [5, 4]
export const THREAD = { width: 1, alpha: 0.45 }
/** Beyond so many ghosts only those of chosen points are drawn. */
const GHOSTS = 20_000

export interface Tick {
  at: number
  text: string
}

/** What stands out on the stage beside the points' own style. */
export interface Marks {
  hovered: number | null
  focus: number | null
  neighbours: number[]
  selected: number[]
  matches: number[]
  /** Lines from what is in focus to its partners; they take the place of lines to its neighbours. */
  strands?: Strand[]
}

export interface Paper {
  ground: string
  ink: string
  accent: string
}

/** A frame of the stage as its painters see it. */
export interface Scene {
  camera: Camera
  size: Size
  radius: number
  count: number
  style: Style
  marks: Marks
  paper: Paper
  outlines: Outlines | null
  screen: (row: number) => [number, number]
  isVisible: (row: number) => boolean
}

/** All ellipses, those drawn later above. */
export function drawEllipses(paint: CanvasRenderingContext2D, scene: Scene): void {
  if (!scene.outlines) return
  const { colours, order } = scene.style
  paint.lineWidth = 1
  for (const row of order) {
    if (!ellipse(paint, scene, row)) continue
    const alpha = colours[4 * row + 3] / 255
    const colour = `rgb(${colours[4 * row]} ${colours[4 * row + 1]} ${colours[4 * row + 2]}`
    paint.fillStyle = `${colour} / ${0.09 * alpha})`
    paint.strokeStyle = `${colour} / ${0.6 * alpha})`
    paint.fill()
    paint.stroke()
  }
}

/** Every point's places in other runs, faint; what is pointed at or chosen has lines to its own. */
export function drawGhosts(
  text: CanvasRenderingContext2D,
  { camera, size, count: n, style, marks, screen }: Scene,
  ghosts: Float32Array,
): void {
  if (!n) return
  const { hovered, focus, selected } = marks
  const chosen = new Set([...selected, ...[hovered, focus].filter((row) => row !== null)])
  const runs = ghosts.length / (2 * n)
  const many = runs * n > GHOSTS
  for (const row of style.order) {
    const lit = chosen.has(row)
    if (!lit && (many || chosen.size)) continue
    text.fillStyle = text.strokeStyle = `rgb(${style.colours[4 * row]} ${style.colours[4 * row + 1]} ${style.colours[4 * row + 2]})`
    const [x, y] = screen(row)
    const side = lit ? 5 : 3
    for (let run = 0; run < runs; run++) {
      const at = 2 * (run * n + row)
      const [gx, gy] = toScreen(camera, size, ghosts[at], ghosts[at + 1])
      if (lit) {
        text.globalAlpha = 0.35
        text.lineWidth = 1
        text.beginPath()
        text.moveTo(x, y)
        text.lineTo(gx, gy)
        text.stroke()
      }
      text.globalAlpha = lit ? 0.8 : 0.28
      text.fillRect(gx - side / 2, gy - side / 2, side, side)
    }
  }
  text.globalAlpha = 1
}

/** What regions that are torn or glued are shaded with, and up to how many points all of them are. */
export const SHADES = { torn: '#7c3aed', glued: '#ea580c' } as const
const SHADED = 5000

/** Soft discs where the layout tore neighbours apart or glued strangers together, the darker the worse. */
export function drawShades(text: CanvasRenderingContext2D, { size, count, style, screen }: Scene, damage: Damage): void {
  const radius = Math.max(10, Math.min(size.width, size.height) / 28)
  const step = Math.max(1, Math.ceil(count / SHADED))
  for (const kind of ['torn', 'glued'] as const) {
    for (let i = 0; i < style.order.length; i += step) {
      const row = style.order[i]
      if (damage[kind][row] < 0.05) continue
      const [x, y] = screen(row)
      const soft = text.createRadialGradient(x, y, 0, x, y, radius)
      soft.addColorStop(0, SHADES[kind])
      soft.addColorStop(1, `${SHADES[kind]}00`)
      text.fillStyle = soft
      text.globalAlpha = Math.min(0.45, 0.6 * damage[kind][row])
      text.fillRect(x - radius, y - radius, 2 * radius, 2 * radius)
    }
  }
  text.globalAlpha = 1
}

/** A thin line through the tokens in reading order. */
export function drawThread(text: CanvasRenderingContext2D, { paper, screen, isVisible }: Scene, thread: Int32Array): void {
  text.strokeStyle = paper.ink
  text.globalAlpha = THREAD.alpha
  text.lineWidth = THREAD.width
  text.lineJoin = 'round'
  text.beginPath()
  for (const row of thread) if (isVisible(row)) text.lineTo(...screen(row))
  text.stroke()
  text.globalAlpha = 1
}

/** Arcs from what is in focus: solid to true neighbours that are near, dashed to those that lie far, crossed out to
 * near ones that are none. */
function drawStrands(text: CanvasRenderingContext2D, { marks, paper, screen, isVisible }: Scene): void {
  const shown = marks.strands!.filter(({ row }) => isVisible(row))
  for (const arc of arcs(marks.focus!, shown, screen)) {
    const { from, bend, to, width, alpha } = arc
    const { dashed, leads, crossed } = strandLook(arc)
    text.strokeStyle = leads ? paper.accent : paper.ink
    text.setLineDash(dashed ? DASH : [])
    text.globalAlpha = crossed ? alpha / 2 : alpha
    text.lineWidth = width
    text.beginPath()
    text.moveTo(...from)
    text.quadraticCurveTo(...bend, ...to)
    text.stroke()
    if (!crossed) continue
    text.globalAlpha = alpha
    text.beginPath()
    for (const [begin, end] of crossOf(arc)) {
      text.moveTo(...begin)
      text.lineTo(...end)
    }
    text.stroke()
  }
  text.setLineDash([])
  text.globalAlpha = 1
}

/** Lines from what is in focus to its partners, or where there are none to its neighbours. */
export function drawNeighbours(text: CanvasRenderingContext2D, scene: Scene): void {
  const { marks, paper, screen, isVisible } = scene
  const { focus, neighbours } = marks
  if (focus === null) return
  if (marks.strands) return drawStrands(text, scene)
  const [x, y] = screen(focus)
  text.strokeStyle = paper.accent
  text.globalAlpha = 0.55
  text.lineWidth = 1
  text.beginPath()
  for (const row of neighbours) {
    if (!isVisible(row)) continue
    text.moveTo(x, y)
    text.lineTo(...screen(row))
  }
  text.stroke()
  text.globalAlpha = 1
}

/** Rings around what is chosen, in focus, or pointed at. */
export function drawRings(text: CanvasRenderingContext2D, scene: Scene): void {
  const { marks, paper, radius, screen, isVisible } = scene
  const { hovered, focus, selected } = marks
  const { ink, accent, ground } = paper
  const circle = (row: number, radius: number, colour: string, width: number) => {
    text.beginPath()
    text.arc(...screen(row), radius, 0, 2 * Math.PI)
    text.strokeStyle = colour
    text.lineWidth = width
    text.stroke()
  }
  // A few are circled; many stand out by being the only ones in colour.
  if (selected.length <= 30) for (const row of selected) if (isVisible(row)) circle(row, radius + 2.5, ink, 1)
  for (const [row, colour] of [
    [focus, accent],
    [hovered, ink],
  ] as const) {
    if (row === null || !isVisible(row)) continue
    circle(row, radius + 4, ground, 4)
    circle(row, radius + 4, colour, 2)
    if (!ellipse(text, scene, row)) continue
    text.strokeStyle = colour
    text.lineWidth = 2
    text.stroke()
  }
}

/** Labels with a rim of the ground, so that they are read above points. */
export function drawLabels(text: CanvasRenderingContext2D, { marks, paper }: Scene, shown: PlacedLabel[]): void {
  const { ground, ink, accent } = paper
  const { focus, hovered } = marks
  text.font = `${LABEL_SIZE}px ${FONT}`
  text.textBaseline = 'middle'
  text.lineJoin = 'round'
  text.lineWidth = 3
  text.strokeStyle = ground
  for (const label of shown) {
    text.globalAlpha = 0.8
    text.strokeText(label.text, label.x, label.y)
    text.globalAlpha = 1
    text.fillStyle = label.row === focus || label.row === hovered ? accent : ink
    text.fillText(label.text, label.x, label.y)
  }
}

/** The lasso while it is drawn: places on screen, x and y in turn. */
export function drawLasso(text: CanvasRenderingContext2D, { paper }: Scene, lasso: number[]): void {
  if (lasso.length < 4) return
  text.beginPath()
  for (let i = 0; i < lasso.length; i += 2) text.lineTo(lasso[i], lasso[i + 1])
  text.closePath()
  text.fillStyle = paper.accent
  text.globalAlpha = 0.1
  text.fill()
  text.globalAlpha = 1
  text.strokeStyle = paper.accent
  text.lineWidth = 1.5
  text.setLineDash([5, 4])
  text.stroke()
  text.setLineDash([])
}

/** Ticks of rescaled axes along the left and the lower edge, as strong as the way there is far. */
export function drawTicks(
  text: CanvasRenderingContext2D,
  { size, paper }: Scene,
  ticks: { across: Tick[]; up: Tick[] },
  way: number,
): void {
  const { width, height } = size
  text.globalAlpha = 0.65 * way
  text.font = `11px ${FONT}`
  text.strokeStyle = paper.ink
  text.lineWidth = 0.5
  text.beginPath()
  for (const { at } of ticks.across) text.rect(at, height - 4, 0, 4)
  for (const { at } of ticks.up) text.rect(0, at, 4, 0)
  text.stroke()
  const write = (words: string, x: number, y: number) => {
    text.lineWidth = 3
    text.strokeStyle = paper.ground
    text.fillStyle = paper.ink
    text.strokeText(words, x, y)
    text.fillText(words, x, y)
  }
  text.textBaseline = 'alphabetic'
  text.textAlign = 'center'
  let free = -Infinity
  for (const { at, text: words } of ticks.across) {
    const half = text.measureText(words).width / 2
    if (at - half < free || at - half < 24 || at + half > width) continue
    write(words, at, height - 8)
    free = at + half + 8
  }
  text.textAlign = 'left'
  text.textBaseline = 'middle'
  for (const { at, text: words } of ticks.up) if (at > 8 && at < height - 24) write(words, 7, at)
  text.globalAlpha = 1
}

/** Lay the path of a row's ellipse; false where it has none. */
function ellipse(paint: CanvasRenderingContext2D, { camera, outlines, screen }: Scene, row: number): boolean {
  if (!outlines) return false
  const { long, short, angle } = outlines
  if (!(long[row] > 0)) return false
  const { scale } = camera
  paint.beginPath()
  paint.ellipse(...screen(row), long[row] * scale, short[row] * scale, -angle[row], 0, 2 * Math.PI)
  return true
}
