import { rgb } from '../../lib/colour'
import { toScreen, type Camera, type Size } from './camera'
import type { PlacedLabel, PlacedName, Rectangle } from './labels'
import type { Period } from './model'
import { NOTED, type Outlines } from './outlines'
import { arcs, crossOf, strandLook, type Strand } from './partners'
import { isQuiet, rowColour, type Style } from './style'
import { damageAround, type Damage } from './truth'

export const FONT = 'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
export const LABEL_SIZE = 12
/** How lines are drawn whose look is shared with saved pictures. */
export const DASH = [5, 4]
export const THREAD = { width: 1, alpha: 0.45 }
/** How far labels of points that do not stand out are seen. */
const QUIET_LABEL = 0.4
/** And those of points whose place says little. */
const LOOSE_LABEL = 0.65
/** Beyond so many places of other restarts only those of chosen points are drawn. */
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

/** A point's way to its place on another map, on screen. */
export interface Move {
  row: number
  from: [number, number]
  to: [number, number]
  isChosen: boolean
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
  isLoose: (row: number) => boolean
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
    paint.strokeStyle = `${colour} / ${0.75 * alpha})`
    paint.fill()
    paint.setLineDash(scene.outlines.doubtful?.[row] ? DASH : [])
    paint.stroke()
    const wide = scene.outlines.outer?.[row] ?? 1
    if (!(wide > NOTED)) continue
    ellipse(paint, scene, row, wide)
    paint.setLineDash([])
    paint.strokeStyle = `${colour} / ${0.25 * alpha})`
    paint.stroke()
  }
}

/** Every point's places in other runs, faint; what is pointed at or chosen has lines to its own. */
export function drawRestarts(
  text: CanvasRenderingContext2D,
  { camera, size, count: n, style, marks, screen }: Scene,
  restarts: Float32Array,
): void {
  if (!n) return
  const { hovered, focus, selected } = marks
  const chosen = new Set([...selected, ...[hovered, focus].filter((row) => row !== null)])
  const runs = restarts.length / (2 * n)
  const many = runs * n > GHOSTS
  for (const row of style.order) {
    const lit = chosen.has(row)
    if (!lit && (many || chosen.size)) continue
    text.fillStyle = text.strokeStyle = `rgb(${style.colours[4 * row]} ${style.colours[4 * row + 1]} ${style.colours[4 * row + 2]})`
    const [x, y] = screen(row)
    const side = lit ? 5 : 3
    for (let run = 0; run < runs; run++) {
      const at = 2 * (run * n + row)
      const [gx, gy] = toScreen(camera, size, restarts[at], restarts[at + 1])
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

/** How lines to places on another map are drawn: thin while all are, stronger where some are chosen. */
export const MOVE = { width: 1, alpha: 0.3, chosen: 0.85, end: 2.5 }

/** Lines from every point, or from those that are chosen, to where they lie on another map, with a ring there. */
export function drawMoves(text: CanvasRenderingContext2D, scene: Scene, moves: Move[]): void {
  for (const { row, from, to, isChosen } of moves) {
    text.strokeStyle = rowColour(scene.style, row)
    text.globalAlpha = isChosen ? MOVE.chosen : MOVE.alpha
    text.lineWidth = isChosen ? 2 * MOVE.width : MOVE.width
    text.beginPath()
    text.moveTo(...from)
    text.lineTo(...to)
    text.stroke()
    text.beginPath()
    text.arc(...to, isChosen ? 2 * MOVE.end : MOVE.end, 0, 2 * Math.PI)
    text.stroke()
  }
  text.globalAlpha = 1
}

/** What regions that are torn or glued are shaded with, and from how many points on not all of them are asked. */
export const SHADES = { torn: '#7c3aed', glued: '#ea580c' } as const
const SHADED = 20_000
/** Pixels of a cell of the shading. */
const SHADE_CELL = 6

/** Regions where the layout tore neighbours apart or glued strangers together, the darker the worse: the mean over
 * the points around, so that a crowd is no darker than a few. The worse of the two gives the colour. */
export function drawShades(text: CanvasRenderingContext2D, { size, count, style, screen }: Scene, damage: Damage): void {
  const [wide, tall] = [Math.ceil(size.width / SHADE_CELL), Math.ceil(size.height / SHADE_CELL)]
  if (!wide || !tall) return
  const { weight, torn, glued } = damageAround(damage, style.order, Math.max(1, Math.ceil(count / SHADED)), wide, tall, (row) => {
    const [x, y] = screen(row)
    return [x / SHADE_CELL, y / SHADE_CELL]
  })
  const small = document.createElement('canvas')
  small.width = wide
  small.height = tall
  const paint = small.getContext('2d')
  if (!paint) return
  const pixels = paint.createImageData(wide, tall)
  const inks = { torn: rgb(SHADES.torn), glued: rgb(SHADES.glued) }
  for (let at = 0; at < weight.length; at++) {
    if (weight[at] < 0.02) continue
    const kind = torn[at] > glued[at] ? 'torn' : 'glued'
    const worst = Math.max(torn[at], glued[at]) / weight[at]
    pixels.data.set([...inks[kind], 255 * Math.min(0.5, worst) * Math.min(1, weight[at])], 4 * at)
  }
  paint.putImageData(pixels, 0, 0)
  text.drawImage(small, 0, 0, wide * SHADE_CELL, tall * SHADE_CELL)
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

/** How the pieces of one word are joined. */
export const JOIN = { width: 3, alpha: 0.4 } as const

/** A broad line through the pieces of every joined word. */
export function drawJoined(text: CanvasRenderingContext2D, { paper }: Scene, words: [number, number][][]): void {
  text.strokeStyle = paper.ink
  text.globalAlpha = JOIN.alpha
  text.lineWidth = JOIN.width
  text.lineJoin = text.lineCap = 'round'
  for (const places of words) {
    text.beginPath()
    for (const place of places) text.lineTo(...place)
    text.stroke()
  }
  text.lineCap = 'butt'
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

/** How strongly a line to a neighbour on the map is drawn. */
export const NEAR = 0.55

/** Lines from what is in focus to its partners, or where there are none to its neighbours. */
export function drawNeighbours(text: CanvasRenderingContext2D, scene: Scene): void {
  const { marks, paper, screen, isVisible } = scene
  const { focus, neighbours } = marks
  if (focus === null) return
  if (marks.strands) return drawStrands(text, scene)
  const [x, y] = screen(focus)
  text.strokeStyle = paper.accent
  text.globalAlpha = NEAR
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
  if (selected.length <= CIRCLED) for (const row of selected) if (isVisible(row)) circle(row, radius + 2.5, ink, 1)
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
    text.setLineDash(scene.outlines?.doubtful?.[row] ? DASH : [])
    text.stroke()
    text.setLineDash([])
  }
}

/** So many are circled; more stand out by being the only ones in colour. */
export const CIRCLED = 30

/** How far a label is seen: fainter where others stand out, or where the point's place says little. */
export function labelStrength(style: Style, row: number, marked: boolean, loose: boolean): number {
  if (isQuiet(style, row)) return QUIET_LABEL
  return loose && !marked ? LOOSE_LABEL : 1
}

/** Labels with a rim of the ground, so that they are read above points. */
/** The line from a point to a label that had to move away from it. */
export const LEAD = { width: 0.75, alpha: 0.5 }

export function drawLabels(text: CanvasRenderingContext2D, { marks, paper, style, screen, isLoose }: Scene, shown: PlacedLabel[]): void {
  const { ground, ink, accent } = paper
  const { focus, hovered } = marks
  text.font = `${LABEL_SIZE}px ${FONT}`
  text.textBaseline = 'middle'
  text.lineJoin = 'round'
  text.strokeStyle = ink
  text.lineWidth = LEAD.width
  text.globalAlpha = LEAD.alpha
  text.beginPath()
  for (const { row, lead } of shown) {
    if (!lead) continue
    text.moveTo(...screen(row))
    text.lineTo(...lead)
  }
  text.stroke()
  text.lineWidth = 3
  text.strokeStyle = ground
  for (const label of shown) {
    text.globalAlpha = 0.8
    text.strokeText(label.text, label.x, label.y)
    const marked = label.row === focus || label.row === hovered
    text.globalAlpha = labelStrength(style, label.row, marked, isLoose(label.row))
    text.fillStyle = marked ? accent : ink
    text.fillText(label.text, label.x, label.y)
  }
  text.globalAlpha = 1
}

export const NAME_SIZE = 14
export const NAME_FONT = `600 ${NAME_SIZE}px ${FONT}`

/** Names of regions, larger than labels and in the middle of what they name. */
export function drawNames(text: CanvasRenderingContext2D, { paper }: Scene, shown: PlacedName[]): void {
  text.font = NAME_FONT
  text.textBaseline = 'middle'
  text.textAlign = 'center'
  text.lineJoin = 'round'
  text.lineWidth = 4
  text.strokeStyle = paper.ground
  text.fillStyle = paper.ink
  for (const { text: words, x, y } of shown) {
    text.globalAlpha = 0.85
    text.strokeText(words, x, y)
    text.globalAlpha = 1
    text.fillText(words, x, y)
  }
  text.textAlign = 'left'
}

/** Ends of a period's ellipse of one standard deviation: half axes and angle, in units of the map. */
export function periodEllipse([xx, xy, yy]: Period['shape']): { long: number; short: number; angle: number } {
  const middle = (xx + yy) / 2
  const apart = Math.hypot((xx - yy) / 2, xy)
  return {
    long: Math.sqrt(Math.max(middle + apart, 0)),
    short: Math.sqrt(Math.max(middle - apart, 0)),
    angle: Math.atan2(2 * xy, xx - yy) / 2,
  }
}

/** A step of a path is solid where it is more than chance. */
export const stepIsSure = ({ p }: Period): boolean => p !== null && p <= 0.05

/** Where on the screen the periods' names are written; nothing else is written over them. */
export function periodBoxes(
  { camera, size }: Pick<Scene, 'camera' | 'size'>,
  periods: Period[],
  measure: (text: string) => number,
): Rectangle[] {
  return periods.map(({ x, y, name }) => {
    const [left, middle] = toScreen(camera, size, x, y)
    return [left - 3, middle - LABEL_SIZE / 2, left + 8 + 1.1 * measure(name), middle + LABEL_SIZE / 2]
  })
}

/** The way of the periods: a line from each to the next, dashed where it may be chance, and their names. */
export function drawPeriods(text: CanvasRenderingContext2D, { camera, size, paper }: Scene, periods: Period[]): void {
  const at = ({ x, y }: Period) => toScreen(camera, size, x, y)
  text.strokeStyle = text.fillStyle = paper.ink
  for (const period of periods) {
    const { long, short, angle } = periodEllipse(period.shape)
    text.globalAlpha = 0.25
    text.lineWidth = 1
    text.beginPath()
    text.ellipse(...at(period), long * camera.scale, short * camera.scale, -angle, 0, 2 * Math.PI)
    text.stroke()
  }
  text.globalAlpha = 0.9
  text.lineWidth = 2
  periods.slice(1).forEach((period, before) => {
    text.setLineDash(stepIsSure(period) ? [] : DASH)
    text.beginPath()
    text.moveTo(...at(periods[before]))
    text.lineTo(...at(period))
    text.stroke()
  })
  text.setLineDash([])
  text.font = `600 ${LABEL_SIZE}px ${FONT}`
  text.textBaseline = 'middle'
  text.strokeStyle = paper.ground
  text.lineWidth = 3
  for (const period of periods) {
    const [x, y] = at(period)
    text.beginPath()
    text.arc(x, y, 3, 0, 2 * Math.PI)
    text.fill()
    text.strokeText(period.name, x + 6, y)
    text.fillText(period.name, x + 6, y)
  }
  text.globalAlpha = 1
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
function ellipse(paint: CanvasRenderingContext2D, { camera, outlines, screen }: Scene, row: number, wide = 1): boolean {
  if (!outlines) return false
  const { long, short, angle } = outlines
  if (!(long[row] > 0)) return false
  const scale = camera.scale * wide
  paint.beginPath()
  paint.ellipse(...screen(row), long[row] * scale, short[row] * scale, -angle[row], 0, 2 * Math.PI)
  return true
}
