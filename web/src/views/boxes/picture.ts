import { CATEGORIES, type Theme } from '../../lib/colour'
import type { Inks } from '../../lib/ink'
import { escape } from '../../lib/svg'
import { ticks, type Box, type Boxes } from './model'

const LEFT = 62
const RIGHT = 16
const TOP = 14
const GAP = 26
const FOOT = 46
const BARS = 0.24

/** Where boxes stand: across by group and series, up by value; bars of the standard deviations lie below. */
export class Frame {
  readonly low: number
  readonly high: number
  readonly widest: number
  readonly slot: number
  readonly floor: number
  readonly base: number

  constructor(
    readonly boxes: Boxes,
    readonly width: number,
    readonly height: number,
  ) {
    const values = boxes.boxes.flatMap((box) => [box.low, box.high, box.mean, ...box.outliers])
    const low = Math.min(...values)
    const high = Math.max(...values)
    const air = 0.04 * (high - low || Math.abs(high) || 1)
    this.low = low - air
    this.high = high + air
    this.widest = Math.max(...boxes.boxes.map((box) => box.sd || 0)) || 1
    this.slot = (width - LEFT - RIGHT) / boxes.groups.length
    this.base = height - FOOT
    this.floor = TOP + (this.base - TOP - GAP) * (1 - BARS)
  }

  /** The middle of a box, and half of how wide it is. */
  across(group: number, series: number): [number, number] {
    const wide = (0.8 * this.slot) / this.boxes.series.length
    return [LEFT + (group + 0.1) * this.slot + (series + 0.5) * wide, Math.min(0.43 * wide, 34)]
  }

  up(value: number): number {
    return this.floor - ((value - this.low) / (this.high - this.low)) * (this.floor - TOP)
  }

  bar(sd: number): number {
    return this.base - (sd / this.widest) * (this.base - this.floor - GAP)
  }

  /** The box whose place is under the point, if there is one. */
  at(x: number, y: number): Box | null {
    if (y < TOP - 10 || y > this.base + 20) return null
    let best: Box | null = null
    let near = Infinity
    for (const box of this.boxes.boxes) {
      const [middle, half] = this.across(box.group, box.series)
      const away = Math.abs(x - middle)
      if (away <= half + 4 && away < near) [best, near] = [box, away]
    }
    return best
  }
}

/** The colours of a series: its line and its ground. */
export function paint(boxes: Boxes, series: number, theme: Theme): { line: string; opacity: number } {
  const colours = CATEGORIES[theme]
  return { line: colours[boxes.hues[series] % colours.length], opacity: boxes.full[series] ? 0.7 : 0.22 }
}

/** Everything but the title, as the inside of an SVG element. */
export function inside(frame: Frame, theme: Theme, inks: Inks): string {
  const { boxes } = frame
  const out: string[] = []
  const line = (x1: number, y1: number, x2: number, y2: number, stroke: string, wide = 1) =>
    out.push(`<line x1="${f(x1)}" y1="${f(y1)}" x2="${f(x2)}" y2="${f(y2)}" stroke="${stroke}" stroke-width="${wide}"/>`)
  const text = (x: number, y: number, words: string, anchor = 'middle', more = '') =>
    out.push(`<text x="${f(x)}" y="${f(y)}" font-size="11.5" fill="${inks.soft}" text-anchor="${anchor}"${more}>${escape(words)}</text>`)
  for (const value of ticks(frame.low, frame.high)) {
    line(LEFT, frame.up(value), frame.width - RIGHT, frame.up(value), inks.line, 0.5)
    text(LEFT - 8, frame.up(value) + 4, String(value), 'end')
  }
  for (const value of ticks(0, frame.widest, 3)) {
    line(LEFT, frame.bar(value), frame.width - RIGHT, frame.bar(value), inks.line, 0.5)
    text(LEFT - 8, frame.bar(value) + 4, String(value), 'end')
  }
  const turned = (y: number) => ` transform="rotate(-90 14 ${f(y)})"`
  text(14, (TOP + frame.floor) / 2, boxes.y, 'middle', turned((TOP + frame.floor) / 2))
  const middle = (frame.floor + GAP + frame.base) / 2
  text(14, middle, 'st. dev.', 'middle', turned(middle))
  boxes.groups.forEach((group, i) => text(LEFT + (i + 0.5) * frame.slot, frame.base + 17, group))
  text((LEFT + frame.width - RIGHT) / 2, frame.base + 36, boxes.x)
  for (const box of boxes.boxes) out.push(drawn(frame, box, theme, inks))
  return out.join('\n')
}

/** The picture as a file of its own: title, line, legend and plot. */
export function svg(frame: Frame, theme: Theme, inks: Inks, font: string): string {
  const { boxes, width, height } = frame
  const head = 84
  let x = 20
  const legend = boxes.series.map((name, series) => {
    const { line, opacity } = paint(boxes, series, theme)
    const part = `<rect x="${x}" y="58" width="14" height="11" fill="${line}" fill-opacity="${opacity}" stroke="${line}"/><text x="${x + 20}" y="68" font-size="12" fill="${inks.ink}">${escape(name)}</text>`
    x += 44 + 6.6 * name.length
    return part
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + head}" viewBox="0 0 ${width} ${height + head}" font-family="${escape(font)}">`,
    `<title>${escape(boxes.title)}</title><rect width="${width}" height="${height + head}" fill="${inks.ground}"/>`,
    `<text x="20" y="28" font-size="17" font-weight="600" fill="${inks.ink}">${escape(boxes.title)}</text>`,
    `<text x="20" y="47" font-size="12" fill="${inks.soft}">${escape(boxes.subtitle)}</text>`,
    ...legend,
    `<g transform="translate(0 ${head})">${inside(frame, theme, inks)}</g></svg>`,
  ].join('\n')
}

function drawn(frame: Frame, box: Box, theme: Theme, inks: Inks): string {
  const [x, half] = frame.across(box.group, box.series)
  const { line, opacity } = paint(frame.boxes, box.series, theme)
  const [low, q1, median, q3, high, mean] = [box.low, box.q1, box.median, box.q3, box.high, box.mean].map((value) => frame.up(value))
  const look = `fill="${line}" fill-opacity="${opacity}" stroke="${line}"`
  const whisker = (from: number, to: number) =>
    `<path d="M${f(x)} ${f(from)}V${f(to)}M${f(x - half / 2)} ${f(to)}H${f(x + half / 2)}" stroke="${line}" fill="none"/>`
  const sd = Number.isFinite(box.sd)
    ? `<rect x="${f(x - half)}" y="${f(frame.bar(box.sd))}" width="${f(2 * half)}" height="${f(frame.base - frame.bar(box.sd))}" ${look}/>`
    : ''
  return [
    ...box.outliers.map((value) => `<circle cx="${f(x)}" cy="${f(frame.up(value))}" r="1.6" fill="${line}" fill-opacity=".55"/>`),
    whisker(q1, low),
    whisker(q3, high),
    `<rect x="${f(x - half)}" y="${f(q3)}" width="${f(2 * half)}" height="${f(Math.max(q1 - q3, 0.5))}" ${look}/>`,
    `<line x1="${f(x - half)}" x2="${f(x + half)}" y1="${f(median)}" y2="${f(median)}" stroke="${inks.ink}" stroke-width="1.8"/>`,
    `<circle cx="${f(x)}" cy="${f(mean)}" r="2.4" fill="${inks.ink}" stroke="${inks.ground}" stroke-width=".8"/>`,
    sd,
  ].join('')
}

const f = (value: number) => value.toFixed(1)
