import { rampOf, type Theme } from '../../lib/colour'
import { escape } from '../../lib/svg'
import { calledOf, LOOSE, ringKinds, type Column, type Scatter } from './model'
import { DASHED, shapePath } from './shapes'
import { toScreen } from './camera'
import {
  CIRCLED,
  DASH,
  FONT,
  JOIN,
  LABEL_SIZE,
  LEAD,
  MOVE,
  NAME_SIZE,
  NEAR,
  periodEllipse,
  labelStrength,
  stepIsSure,
  THREAD,
  type Paper,
} from './painters'
import { NOTED, type Outlines } from './outlines'
import { crossOf, strandKey, strandLook, type Strand } from './partners'
import type { Stage } from './stage'
import type { TruthScale } from './truth'
import { rampEnds, rowColour, type LegendEntry, type Style } from './style'

const MARGIN = 24
const LINE = 18

/** Everything a saved picture shows beside the points. */
export interface Caption {
  scatter: Scatter
  column: Column | null
  entries: LegendEntry[]
  /** k of rescaled axes; null for true distances. */
  quantiles: number | null
  theme: Theme
  paper: Paper
  /** What areas stand for: circles with their names, the radius being in pixels of the key. */
  areas?: AreaMark[]
  /** What a dashed outline means, where there is one. */
  doubtful?: string
  /** What the view says beside its notes, of what it leaves out for example. */
  said?: string[]
  /** What the points are coloured by instead of the column, while that is so. */
  scale?: TruthScale | null
}

export interface AreaMark {
  label: string
  radius: number
}

/** What is on screen as one SVG that stands alone: title, scores, points, labels, legend. */
export function svg(stage: Stage, style: Style, caption: Caption): string {
  const { scatter, paper } = caption
  const { width, height } = stage.size
  const title = wrap(scatter.title, Math.floor((width - 2 * MARGIN) / 9.6))
  const head = headLines(caption, width)
  const under = MARGIN + 10 + 22 * (title.length - 1)
  const top = under + 12 + head.length * 16 + 8
  const legend = legendLines(caption, width, stage.moves().length > 0, stage.arcs())
  const notes = noteLines([...(caption.said ?? []), ...scatter.notes], width)
  const below = top + height + 6 + legend.height
  const full = below + notes.length * 16 + MARGIN - 6
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${full}" viewBox="0 0 ${width} ${full}" font-family="${escape(FONT)}">`,
    `<title>${escape(scatter.title)}</title>`,
    `<rect width="${width}" height="${full}" fill="${paper.ground}"/>`,
    ...title.map(
      (line, i) =>
        `<text x="${MARGIN}" y="${MARGIN + 10 + 22 * i}" font-size="17" font-weight="600" fill="${paper.ink}">${escape(line)}</text>`,
    ),
    ...head.map(
      (line, i) => `<text x="${MARGIN}" y="${under + 20 + 16 * i}" font-size="12" fill="${paper.ink}" opacity=".7">${escape(line)}</text>`,
    ),
    `<clipPath id="stage"><rect width="${width}" height="${height}"/></clipPath>`,
    `<g transform="translate(0 ${top})" clip-path="url(#stage)">`,
    ...drawn(stage, style, scatter, paper),
    '</g>',
    `<g transform="translate(0 ${top + height + 6})">${legend.parts.join('')}</g>`,
    ...notes.map(
      (line, i) => `<text x="${MARGIN}" y="${below + 12 + 16 * i}" font-size="12" fill="${paper.ink}" opacity=".7">${escape(line)}</text>`,
    ),
    '</svg>',
  ].join('\n')
}

/** The map itself, without title and legend. */
export function drawn(stage: Stage, style: Style, scatter: Scatter, paper: Paper): string[] {
  return [
    ...ellipses(stage, style),
    ...points(stage, style, scatter, paper),
    ...lines(stage, style, paper),
    ...rings(stage, paper),
    ...labels(stage, style, paper),
    ...periods(stage, scatter, paper),
    ...names(stage, paper),
    ...ticks(stage, paper),
  ]
}

function ellipses(stage: Stage, style: Style): string[] {
  const { outlines } = stage
  if (!outlines) return []
  return Array.from(style.order)
    .filter((row) => outlines.long[row] > 0)
    .map((row) => {
      const alpha = style.colours[4 * row + 3] / 255
      const colour = rowColour(style, row)
      const wide = outlines.outer?.[row] ?? 1
      const dash = outlines.doubtful?.[row] ? ` class="doubtful" stroke-dasharray="${DASH.join(' ')}"` : ''
      const second = `<ellipse ${ellipseOf(stage, outlines, row, wide)} fill="none" stroke="${colour}" stroke-opacity="${(0.25 * alpha).toFixed(3)}"/>`
      return `<ellipse ${ellipseOf(stage, outlines, row)} fill="${colour}" fill-opacity="${(0.09 * alpha).toFixed(3)}" stroke="${colour}" stroke-opacity="${(0.75 * alpha).toFixed(3)}"${dash}/>${wide > NOTED ? second : ''}`
    })
}

/** Where a row's ellipse lies on the stage, so many times as wide as it is. */
function ellipseOf(stage: Stage, { long, short, angle }: Outlines, row: number, wide = 1): string {
  const [x, y] = stage.screen(row).map((value) => value.toFixed(2))
  const [far, near] = [long[row], short[row]].map((value) => (value * stage.camera.scale * wide).toFixed(2))
  return `cx="${x}" cy="${y}" rx="${far}" ry="${near}" transform="rotate(${((-angle[row] * 180) / Math.PI).toFixed(2)} ${x} ${y})"`
}

function points(stage: Stage, style: Style, scatter: Scatter, paper: Paper): string[] {
  const out: string[] = []
  for (const row of style.order) {
    const [x, y] = stage.screen(row)
    if (x < -20 || y < -20 || x > stage.size.width + 20 || y > stage.size.height + 20) continue
    const r = stage.radius * style.sizes[row]
    const paint = `fill="${rowColour(style, row)}" fill-opacity="${(style.colours[4 * row + 3] / 255).toFixed(2)}"`
    const stroke = stage.edge ? ` stroke="${paper.ground}" stroke-width="${stage.edge}"` : ''
    out.push(
      style.shapes[row] === 0
        ? `<circle cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${r.toFixed(2)}" ${paint}${stroke}/>`
        : `<path d="${shapePath(style.shapes[row], x, y, r)}" ${paint}${stroke}/>`,
    )
    if (scatter.rings?.[row])
      out.push(
        `<circle cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${(r + stage.edge + 1.6).toFixed(2)}" fill="none" stroke="${paper.ink}" stroke-width="1.3"${broken(scatter.rings[row] === LOOSE)}/>`,
      )
  }
  return out
}

/** What makes a circle a ring of dashes. */
function broken(dashed: boolean): string {
  return dashed
    ? Object.entries(DASHED)
        .map(([name, value]) => ` ${name}="${value}"`)
        .join('')
    : ''
}

function names(stage: Stage, paper: Paper): string[] {
  return stage.named.map(
    ({ text, x, y }) =>
      `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${NAME_SIZE}" font-weight="600" text-anchor="middle" dominant-baseline="middle" fill="${paper.ink}" stroke="${paper.ground}" stroke-width="4" stroke-linejoin="round" paint-order="stroke">${escape(text)}</text>`,
  )
}

/** The way of the periods, as it is on the stage. */
function periods(stage: Stage, scatter: Scatter, paper: Paper): string[] {
  if (stage.ticks() || stage.turns) return []
  const { camera, size } = stage
  const at = scatter.periods.map(({ x, y }) => toScreen(camera, size, x, y).map((value) => value.toFixed(1)))
  return scatter.periods.flatMap((period, i) => {
    const [x, y] = at[i]
    const { long, short, angle } = periodEllipse(period.shape)
    const turned = ((-angle * 180) / Math.PI).toFixed(2)
    const dash = stepIsSure(period) ? '' : ` stroke-dasharray="${DASH.join(' ')}"`
    const from = i ? at[i - 1] : null
    return [
      `<ellipse cx="${x}" cy="${y}" rx="${(long * camera.scale).toFixed(1)}" ry="${(short * camera.scale).toFixed(1)}" transform="rotate(${turned} ${x} ${y})" fill="none" stroke="${paper.ink}" stroke-opacity=".25"/>`,
      from ? `<line x1="${from[0]}" y1="${from[1]}" x2="${x}" y2="${y}" stroke="${paper.ink}" stroke-width="2"${dash}/>` : '',
      `<text x="${Number(x) + 6}" y="${y}" font-size="${LABEL_SIZE}" font-weight="600" dominant-baseline="middle" fill="${paper.ink}" stroke="${paper.ground}" stroke-width="3" paint-order="stroke">${escape(period.name)}</text>`,
    ]
  })
}

/** The thread through the tokens, and the arcs to partners. */
function lines(stage: Stage, style: Style, paper: Paper): string[] {
  const at = (place: readonly [number, number]) => place.map((value) => value.toFixed(1)).join(' ')
  const thread = stage.threaded()
  return [
    ...(thread.length
      ? [
          `<polyline points="${thread.map(at).join(' ')}" fill="none" stroke="${paper.ink}" stroke-width="${THREAD.width}" stroke-opacity="${THREAD.alpha}" stroke-linejoin="round"/>`,
        ]
      : []),
    ...stage.moves().map(({ row, from, to, isChosen }) => {
      const stroke = `fill="none" stroke="${rowColour(style, row)}" stroke-width="${isChosen ? 2 * MOVE.width : MOVE.width}" stroke-opacity="${isChosen ? MOVE.chosen : MOVE.alpha}"`
      const [x, y] = to.map((value) => value.toFixed(1))
      return `<g class="move" ${stroke}><path d="M${at(from)}L${at(to)}"/><circle cx="${x}" cy="${y}" r="${isChosen ? 2 * MOVE.end : MOVE.end}"/></g>`
    }),
    ...stage
      .joined()
      .map(
        (places) =>
          `<polyline class="word" points="${places.map(at).join(' ')}" fill="none" stroke="${paper.ink}" stroke-width="${JOIN.width}" stroke-opacity="${JOIN.alpha}" stroke-linejoin="round" stroke-linecap="round"/>`,
      ),
    ...nearest(stage, at, paper),
    ...stage.arcs().flatMap((arc) => {
      const { fate, way, from, bend, to, width, alpha } = arc
      const { dashed, leads, crossed } = strandLook(arc)
      const stroke = `fill="none" stroke="${leads ? paper.accent : paper.ink}" stroke-width="${width.toFixed(2)}"`
      const dash = dashed ? ` stroke-dasharray="${DASH.join(' ')}"` : ''
      const line = `<path class="${way ? `${fate} ${way}` : fate}" d="M${at(from)}Q${at(bend)} ${at(to)}" ${stroke} stroke-opacity="${(crossed ? alpha / 2 : alpha).toFixed(2)}"${dash}/>`
      const cross = crossOf(arc).map(([begin, end]) => `M${at(begin)}L${at(end)}`)
      return crossed ? [line, `<path class="cross" d="${cross.join('')}" ${stroke} stroke-opacity="${alpha.toFixed(2)}"/>`] : [line]
    }),
  ]
}

/** Lines from what is in focus to its neighbours on the map, where its true ones are not known. */
function nearest(stage: Stage, at: (place: readonly [number, number]) => string, paper: Paper): string[] {
  const { focus, neighbours, strands } = stage.marks
  if (focus === null || strands) return []
  return neighbours.map(
    (row) =>
      `<path class="near" d="M${at(stage.screen(focus))}L${at(stage.screen(row))}" fill="none" stroke="${paper.accent}" stroke-opacity="${NEAR}"/>`,
  )
}

/** Circles around what is chosen, as on the stage: few are circled, many stand out by their colour. */
function rings(stage: Stage, paper: Paper): string[] {
  const { focus, selected } = stage.marks
  const circle = (row: number, radius: number, colour: string, width: number, name: string) => {
    const [x, y] = stage.screen(row).map((value) => value.toFixed(2))
    return `<circle class="${name}" data-row="${row}" cx="${x}" cy="${y}" r="${radius}" fill="none" stroke="${colour}" stroke-width="${width}"/>`
  }
  return [
    ...(selected.length <= CIRCLED ? selected.map((row) => circle(row, stage.radius + 2.5, paper.ink, 1, 'selected')) : []),
    ...(focus === null
      ? []
      : [
          circle(focus, stage.radius + 4, paper.ground, 4, 'rim'),
          circle(focus, stage.radius + 4, paper.accent, 2, 'focus'),
          ...(stage.outlines && stage.outlines.long[focus] > 0
            ? [
                `<ellipse class="focus" ${ellipseOf(stage, stage.outlines, focus)} fill="none" stroke="${paper.accent}" stroke-width="2"${stage.outlines.doubtful?.[focus] ? ` stroke-dasharray="${DASH.join(' ')}"` : ''}/>`,
              ]
            : []),
        ]),
  ]
}

function labels(stage: Stage, style: Style, paper: Paper): string[] {
  const { focus } = stage.marks
  const opacity = (row: number) => {
    const strength = labelStrength(style, row, row === focus, stage.isLoose(row))
    return strength < 1 ? ` fill-opacity="${strength}"` : ''
  }
  const leads = stage.shown.flatMap(({ row, lead }) => {
    if (!lead) return []
    const [from, to] = [stage.screen(row), lead].map((place) => place.map((value) => value.toFixed(1)).join(' '))
    return `<path class="lead" d="M${from}L${to}" stroke="${paper.ink}" stroke-width="${LEAD.width}" stroke-opacity="${LEAD.alpha}"/>`
  })
  const written = stage.shown.map(
    ({ row, text, x, y }) =>
      `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" dy=".35em" font-size="${LABEL_SIZE}" fill="${row === focus ? paper.accent : paper.ink}"${opacity(row)} stroke="${paper.ground}" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke">${escape(text)}</text>`,
  )
  return [...leads, ...written]
}

function ticks(stage: Stage, paper: Paper): string[] {
  const marks = stage.ticks()
  if (!marks) return []
  const { height } = stage.size
  const text = (x: number, y: number, words: string, anchor: string) =>
    `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="11" fill="${paper.ink}" text-anchor="${anchor}">${escape(words)}</text>`
  return [
    ...marks.across.map(({ at, text: words }) => text(at, height - 8, words, 'middle')),
    ...marks.up.map(({ at, text: words }) => text(7, at + 4, words, 'start')),
  ]
}

function headLines({ scatter, quantiles }: Caption, width: number): string[] {
  // A figure is never broken from its value, hence the no-break spaces.
  const figures = scatter.quality.map((figure) => `${figure.label} ${figure.shown}`.replaceAll(' ', '\u00a0')).join(' · ')
  const axes = quantiles === null ? '' : `axes at equal quantiles, k = ${quantiles}: distances are not preserved`
  return [scatter.subtitle, figures, axes].filter(Boolean).flatMap((line) => wrap(line, Math.floor((width - 2 * MARGIN) / 6.3)))
}

/** Notes that a saved picture carries at most, so that it stays a picture. */
const NOTES = 6

/** What a reader should know of the map, in lines: a picture that is passed on must say it too. */
function noteLines(notes: string[], width: number): string[] {
  const more = notes.length - NOTES
  const said = more > 0 ? [...notes.slice(0, NOTES), `and ${more} more ${more === 1 ? 'note' : 'notes'}`] : notes
  return said.flatMap((note) => wrap(note, Math.floor((width - 2 * MARGIN) / 6.3)))
}

function wrap(text: string, most: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.length - 1
    if (last >= 0 && lines[last].length + word.length < most) lines[last] += ` ${word}`
    else lines.push(word)
  }
  // what parts two scores parts nothing where a line ends or begins
  return lines.map((line) => line.replace(/^· | ·$/g, ''))
}

/** A line of the key, as long as other marks are wide. */
function strandMark(x: number, y: number, strand: Pick<Strand, 'fate' | 'way'>, paper: Paper): string {
  const { dashed, leads, crossed } = strandLook(strand)
  const stroke = `fill="none" stroke="${leads ? paper.accent : paper.ink}" stroke-width="1.5"`
  const line = `<path class="key" d="M${x - 4} ${y}h16" ${stroke}${crossed ? ' stroke-opacity=".5"' : ''}${dashed ? ` stroke-dasharray="${DASH.join(' ')}"` : ''}/>`
  return crossed ? `${line}<path class="key" d="M${x} ${y - 4}l8 8m0 -8l-8 8" ${stroke}/>` : line
}

function legendLines(
  { scatter, column: chosen, entries: marked, theme, paper, areas = [], doubtful, scale = null }: Caption,
  width: number,
  isMoving: boolean,
  strands: readonly Pick<Strand, 'fate' | 'way'>[],
): { parts: string[]; height: number } {
  const [column, entries] = scale ? [null, []] : [chosen, marked]
  const parts: string[] = []
  let x = MARGIN
  let y = 12
  const say = (text: string, weight = 400) => {
    parts.push(`<text x="${x}" y="${y + 4}" font-size="12" font-weight="${weight}" fill="${paper.ink}">${escape(text)}</text>`)
  }
  if (column) {
    say(calledOf(column), 600)
    y += LINE
  }
  if (scale) {
    say(scale.measure, 600)
    y += LINE
  }
  const ends = scale ? [`near ${scale.near}`, `far ${scale.far}`] : rampEnds(column)
  if (ends) {
    const stops = (scale?.colours ?? rampOf(column?.name ?? '', theme)).map(
      (colour, i, { length }) => `<stop offset="${i / (length - 1)}" stop-color="${colour}"/>`,
    )
    parts.push(
      `<linearGradient id="ramp">${stops.join('')}</linearGradient><rect x="${x}" y="${y - 5}" width="160" height="10" rx="2" fill="url(#ramp)"/>`,
    )
    x += 170
    say(`${ends[0]} to ${ends[1]}`)
    x += 140
  }
  const marks = entries.map(({ label, colour, shape }) => ({
    label,
    draw: (): string =>
      shape ? `<path d="${shapePath(shape, x + 5, y, 5)}" fill="${colour}"/>` : `<circle cx="${x + 5}" cy="${y}" r="5" fill="${colour}"/>`,
  }))
  for (const { label, dashed } of ringKinds(scatter))
    marks.push({
      label,
      draw: () => `<circle cx="${x + 5}" cy="${y}" r="4.5" fill="none" stroke="${paper.ink}" stroke-width="1.3"${broken(dashed)}/>`,
    })
  if (isMoving && scatter.elsewhere)
    marks.push({
      label: `line to a ring: its place on ${scatter.elsewhere.name}`,
      draw: () =>
        `<path d="M${x} ${y}h7" stroke="${paper.ink}"/><circle cx="${x + 10}" cy="${y}" r="3" fill="none" stroke="${paper.ink}"/>`,
    })
  if (doubtful)
    marks.push({
      label: doubtful,
      draw: () => `<ellipse cx="${x + 6}" cy="${y}" rx="7" ry="5" fill="none" stroke="${paper.ink}" stroke-dasharray="${DASH.join(' ')}"/>`,
    })
  for (const { words, drawn } of strandKey(strands, Boolean(scatter.partners || scatter.truth?.byWeight)))
    marks.push({ label: words, draw: () => strandMark(x, y, drawn, paper) })
  for (const { label, draw } of marks) {
    const wide = 30 + label.length * 6.6
    if (x > MARGIN && x + wide > width - MARGIN) {
      x = MARGIN
      y += LINE
    }
    parts.push(draw())
    x += 16
    say(label)
    x += wide - 16
  }
  if (areas.length) {
    const largest = Math.max(...areas.map(({ radius }) => radius))
    ;[x, y] = [MARGIN, y + (parts.length ? LINE : 0)]
    say('area: total variance over the contexts', 600)
    y += 12 + largest
    for (const { label, radius } of areas) {
      parts.push(
        `<circle class="area" cx="${x + radius}" cy="${y}" r="${radius.toFixed(1)}" fill="none" stroke="${paper.ink}" stroke-opacity=".6"/>`,
      )
      x += 2 * radius + 6
      say(label)
      x += 20 + label.length * 6.6
    }
    y += largest
  }
  return { parts, height: parts.length ? y + 12 : 0 }
}
