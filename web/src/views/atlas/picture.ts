import { rampOf, verdictColour, type Theme } from '../../lib/colour'
import { tokenCount } from '../../lib/format'
import type { Inks } from '../../lib/ink'
import { placed, sizeOf } from '../../lib/snapshot'
import { escape } from '../../lib/svg'
import type { Column } from '../scatter/model'
import { legend as marks, rampEnds } from '../scatter/style'
import { EVEN, placesOf, type Atlas, type HeadName } from './model'
import { around, type Dressed } from './thumbnail'

const SIZE = 116
const GAP = 14
const LINE = 13
const LEFT = 24
const HEAD = 76
const LEGEND = 22

/** The maps of these heads, so many in a row, as an SVG that stands alone; `lead` is a picture that stands above them. */
export function gridSvg(
  atlas: Atlas,
  heads: HeadName[],
  wide: number,
  dressed: Dressed,
  colour: Column,
  said: (head: HeadName) => string[],
  /** What is usual of the scores on the tiles. */
  usual: string[],
  theme: Theme,
  inks: Inks,
  font: string,
  lead = '',
): string {
  const across = Math.max(1, Math.min(wide, heads.length))
  const [leadWide, leadHigh] = lead ? sizeOf(lead) : [0, 0]
  const width = Math.max(2 * LEFT + across * (SIZE + GAP), leadWide + 2 * LEFT, 420)
  const verdicts = atlas.verdicts.filter(([verdict]) => heads.some((head) => head.verdict === verdict))
  const ends = rampEnds(colour)
  const top = HEAD + LEGEND + (lead ? leadHigh + 2 * GAP : 0)
  const foot = 4 + LINE * (1 + Math.max(0, ...heads.map((head) => said(head).length)))
  const height = top + Math.ceil(heads.length / across) * (SIZE + foot + GAP) + 12
  const text = (x: number, y: number, words: string, size: number, fill: string, more = '') =>
    `<text x="${x}" y="${y}" font-size="${size}" fill="${fill}"${more}>${escape(words)}</text>`
  const line = `${atlas.subtitle ? `${atlas.subtitle} · ` : ''}${heads.length} of ${atlas.heads.length} heads, ${tokenCount(atlas.special)}, numbered from 0${usual.length ? ` · of all heads ${usual.join('; ')}` : ''}`
  const mark = (x: number, y: number, verdict: string) => `<circle cx="${x}" cy="${y}" r="3.6" fill="${verdictColour(verdict, theme)}"/>`
  let at = LEFT
  const legend = verdicts.map(([verdict]) => {
    const entry = mark(at + 4, 70, verdict) + text(at + 12, 74, verdict, 11, inks.soft)
    at += 30 + 6 * verdict.length
    return entry
  })
  const colours = ends
    ? [
        `<linearGradient id="ramp">${rampOf(colour.name, theme)
          .map((stop, i, { length }) => `<stop offset="${i / (length - 1)}" stop-color="${stop}"/>`)
          .join('')}</linearGradient>`,
        text(at, 74, colour.name, 11, inks.soft),
        text(at + 60, 74, ends[0], 11, inks.soft),
        `<rect x="${at + 84}" y="66" width="80" height="8" rx="2" fill="url(#ramp)"/>`,
        text(at + 170, 74, ends[1], 11, inks.soft),
      ]
    : marks(colour, theme).map(({ label, colour }) => {
        const entry = `<rect x="${at}" y="66" width="8" height="8" rx="2" fill="${colour}"/>` + text(at + 12, 74, label, 11, inks.soft)
        at += 26 + 6 * label.length
        return entry
      })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escape(font)}">`,
    `<title>${escape(atlas.title)}</title><rect width="${width}" height="${height}" fill="${inks.ground}"/>`,
    text(LEFT, 32, atlas.title, 17, inks.ink, ' font-weight="600"'),
    text(LEFT, 52, line, 12, inks.soft),
    ...legend,
    ...colours,
    lead && placed(lead, LEFT, HEAD + LEGEND, 'lead'),
    ...heads.map((head, i) => {
      const x = LEFT + (i % across) * (SIZE + GAP)
      const y = top + Math.floor(i / across) * (SIZE + foot + GAP)
      const even = head.verdict === EVEN
      const named = [
        text(0, SIZE + 13, head.name, 11, inks.ink, ' font-weight="600"'),
        head.verdict
          ? mark(SIZE - 4, SIZE + 9.5, head.verdict) + text(SIZE - 11, SIZE + 13, head.verdict, 10, inks.soft, ' text-anchor="end"')
          : '',
        ...said(head).map((words, at) => text(0, SIZE + 13 + LINE * (at + 1), words, 10, at ? inks.soft : inks.ink)),
        even ? text(SIZE / 2, SIZE / 2 + 4, EVEN, 11, inks.soft, ' text-anchor="middle"') : '',
      ].join('')
      return `<g transform="translate(${x} ${y})"><rect width="${SIZE}" height="${SIZE}" fill="none" stroke="${inks.line}" stroke-width=".5"/><g${even ? ' opacity=".14"' : ''}>${dots(placesOf(atlas, head.row), dressed)}</g>${named}</g>`
    }),
    '</svg>',
  ].join('\n')
}

function dots(places: Float32Array, dressed: Dressed): string {
  const shown = dressed.shown.filter((row) => Number.isFinite(places[2 * row]))
  const box = around(places, shown)
  const scale = (SIZE - 8) / Math.max(box.span, 1e-12)
  const dot = Math.max(1.2, Math.min(3, 22 / Math.sqrt(shown.length)))
  return Array.from(shown, (row) => {
    const x = SIZE / 2 + (places[2 * row] - box.x) * scale
    const y = SIZE / 2 - (places[2 * row + 1] - box.y) * scale
    const lit = dressed.lit?.has(row)
    const fill = dressed.lit ? (lit ? dressed.accent : dressed.quiet) : dressed.colours[row]
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(lit ? 3 : dot / 2).toFixed(1)}" fill="${fill}"/>`
  }).join('')
}
