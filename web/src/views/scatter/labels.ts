/** Which labels fit on screen without touching one another, the most wanted first. */

export interface PlacedLabel {
  row: number
  text: string
  /** Left end and vertical middle of the text, in pixels. */
  x: number
  y: number
  width: number
  /** Where a line from the point ends, of a label that had to move away from it. */
  lead?: readonly [number, number]
}

export interface LabelSpace {
  width: number
  height: number
  /** Pixels from a point's middle to where its label may begin. */
  gap: number
  lineHeight: number
  /** Free pixels kept around every label: more of it, fewer labels. */
  air: number
  /** Stop after this many labels, and after looking at this many points on screen. */
  most: number
  budget: number
  /** How many points a rectangle would cover; of the free places, the one with the fewest is taken. */
  covered?: (box: Rectangle) => number
  /** Rectangles that are taken already. */
  taken?: Rectangle[]
  /** Whether every label is wanted: one without room beside its point moves away from it, on a line. */
  all?: boolean
  /** Points no farther than this from one that has its label lie on top of it: their labels are written in lines below, or above. */
  stacked?: number
}

const LONGEST = 32
const BIN = 64

export function placeLabels(
  wanted: Iterable<number>,
  screen: (row: number) => readonly [number, number],
  labels: string[],
  measure: (text: string) => number,
  space: LabelSpace,
): PlacedLabel[] {
  const taken = new Bins(space.width, space.height)
  for (const box of space.taken ?? []) taken.take(box)
  const placed: PlacedLabel[] = []
  const stacks: Stack[] = []
  let looked = 0
  for (const row of wanted) {
    const [px, py] = screen(row)
    if (px < 0 || py < 0 || px > space.width || py > space.height) continue
    if (++looked > space.budget || placed.length >= space.most) break
    const text = shorten(labels[row])
    if (!text) continue
    const width = measure(text)
    const half = space.lineHeight / 2
    const spots: [number, number][] = [
      [px + space.gap, py],
      [px - space.gap - width, py],
      [px - width / 2, py - space.gap - half],
      [px - width / 2, py + space.gap + half],
    ]
    let best: Found | null = null
    for (const [x, y] of spots) {
      if (x < 2 || x + width > space.width - 2 || y < half || y > space.height - half) continue
      const box = [x - space.air, y - half - space.air / 3, x + width + space.air, y + half + space.air / 3] as const
      if (!taken.isFree(box)) continue
      const covered = space.covered?.([x, y - half, x + width, y + half]) ?? 0
      if (!best || covered < best.covered) best = { label: { row, text, x, y, width }, box, covered }
      if (!covered) break
    }
    if (!best && space.all) best = movedAway(row, text, width, [px, py], space, taken)
    if (best) {
      taken.take(best.box)
      placed.push(best.label)
      if (space.stacked) stacks.push({ x: px, y: py, lines: [best.label], more: 0 })
    } else if (space.stacked) {
      const near = stacks.find((stack) => Math.hypot(stack.x - px, stack.y - py) <= space.stacked!)
      const line = near && near.lines.length < LINES ? lineOf(near, row, text, width, placed, space) : null
      if (line) {
        near!.lines.push(line)
        placed.push(line)
        taken.take(boxOf(line, space.lineHeight))
      } else if (near) near.more++
    }
  }
  for (const { lines, more } of stacks) {
    if (!more) continue
    const last = lines.reduce((low, line) => (line.y > low.y ? line : low))
    last.text = `${last.text} and ${more} more`
    last.width = measure(last.text)
  }
  return placed
}

interface Found {
  label: PlacedLabel
  box: Rectangle
  covered: number
}

/** Directions a label may move in, and how many lines it may move away at most. */
const WAYS = 16
const FARTHEST = 8

/** The nearest free place around a point, with hardly any air, where it covers the fewest points; null where there is none. */
function movedAway(
  row: number,
  text: string,
  width: number,
  [px, py]: readonly [number, number],
  space: LabelSpace,
  taken: Bins,
): Found | null {
  const { gap, lineHeight } = space
  for (let lines = 0; lines <= FARTHEST; lines += 0.5) {
    let best: Found | null = null
    for (let way = 0; way < WAYS; way++) {
      const turn = (2 * Math.PI * way) / WAYS
      const [right, down] = [Math.cos(turn), Math.sin(turn)]
      const away = gap + lines * lineHeight
      // the text stands beyond the end of the line: to its right or left, or centred on it
      const x = px + right * away + ((right - 1) / 2) * width
      const y = py + down * (away + lineHeight / 2)
      if (x < 2 || x + width > space.width - 2 || y < lineHeight / 2 || y > space.height - lineHeight / 2) continue
      const box = [x - 1, y - lineHeight / 2, x + width + 1, y + lineHeight / 2] as const
      if (!taken.isFree(box)) continue
      const covered = space.covered?.(box) ?? 0
      if (best && best.covered <= covered) continue
      const lead = lines > 0.5 ? ([Math.min(Math.max(px, x), x + width), y - Math.sign(y - py) * (lineHeight / 2)] as const) : undefined
      best = { label: { row, text, x, y, width, lead }, box, covered }
    }
    if (best) return best
  }
  return null
}

/** Names of points that lie on top of one another, in lines. */
interface Stack {
  x: number
  y: number
  lines: PlacedLabel[]
  /** Points there is no line for. */
  more: number
}

/** Lines of a stack at most. */
const LINES = 3

function boxOf({ x, y, width }: PlacedLabel, lineHeight: number): Rectangle {
  return [x, y - lineHeight / 2, x + width, y + lineHeight / 2]
}

/** A line for one more name of a stack, below it or else above it, where it touches no other label; null where it would. */
function lineOf(stack: Stack, row: number, text: string, width: number, placed: PlacedLabel[], space: LabelSpace): PlacedLabel | null {
  const { lineHeight, taken = [] } = space
  const own = new Set(stack.lines)
  const others = [...placed.filter((label) => !own.has(label)).map((label) => boxOf(label, lineHeight)), ...taken]
  const rows = stack.lines.map(({ y }) => y)
  const first = stack.lines[0]
  // names that end at their point do so in every line
  const x = first.x + first.width <= stack.x ? first.x + first.width - width : first.x
  for (const y of [Math.max(...rows) + lineHeight, Math.min(...rows) - lineHeight]) {
    const line = { row, text, x, y, width }
    const [left, top, right, bottom] = boxOf(line, lineHeight)
    if (left < 2 || right > space.width - 2 || top < 0 || bottom > space.height) continue
    if (others.every(([a, b, c, d]) => right <= a || left >= c || bottom <= b || top >= d)) return line
  }
  return null
}

/** A name in the middle of its region: place and half its width and height, in pixels. */
export interface PlacedName {
  index: number
  text: string
  x: number
  y: number
  box: Rectangle
}

/** The names of regions that fit without touching, the first wanted first: closer up, more of them have room. A name
 * moves up or down, by three lines at most, off what is `written` already. */
export function placeNames(
  names: { name: string }[],
  screen: (index: number) => readonly [number, number],
  measure: (text: string) => number,
  { width, height, lineHeight, air }: Pick<LabelSpace, 'width' | 'height' | 'lineHeight' | 'air'>,
  written: Rectangle[] = [],
): PlacedName[] {
  const marks = new Bins(width, height)
  for (const box of written) marks.take(box)
  const taken = new Bins(width, height)
  const placed: PlacedName[] = []
  names.forEach(({ name }, index) => {
    const [x, y] = screen(index)
    if (x < 0 || y < 0 || x > width || y > height) return
    const half = measure(name) / 2
    // A name near the edge moves inwards rather than being cut.
    const at = Math.min(Math.max(x, half + 4), Math.max(width - half - 4, half + 4))
    const tall = lineHeight / 2
    const step = [0, -1, 1, -2, 2, -3, 3].find((lines) => {
      const here = y + lines * tall
      return here > tall && here < height - tall && marks.isFree([at - half, here - tall, at + half, here + tall])
    })
    if (step === undefined) return
    const here = y + step * tall
    const box = [at - half - air, here - tall - air / 2, at + half + air, here + tall + air / 2] as const
    if (!taken.isFree(box)) return
    taken.take(box)
    placed.push({ index, text: name, x: at, y: here, box })
  })
  return placed
}

/** One line, at most 32 characters. */
export function shorten(label: string): string {
  const line = label.replace(/\s+/g, ' ').trim()
  const characters = Array.from(line)
  return characters.length > LONGEST ? characters.slice(0, LONGEST - 1).join('') + '…' : line
}

export type Rectangle = readonly [left: number, top: number, right: number, bottom: number]

/** Rectangles kept by screen squares, so that a new one is compared with the near ones only. */
class Bins {
  readonly #columns: number
  readonly #rows: number
  readonly #bins: Rectangle[][]

  constructor(width: number, height: number) {
    this.#columns = Math.floor(width / BIN) + 1
    this.#rows = Math.floor(height / BIN) + 1
    this.#bins = Array.from({ length: this.#columns * this.#rows }, () => [])
  }

  isFree(box: Rectangle): boolean {
    for (const bin of this.#touched(box))
      for (const other of bin) if (box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]) return false
    return true
  }

  take(box: Rectangle): void {
    for (const bin of this.#touched(box)) bin.push(box)
  }

  #touched(box: Rectangle): Rectangle[][] {
    const bins: Rectangle[][] = []
    const clamp = (value: number, most: number) => Math.min(Math.max(Math.floor(value / BIN), 0), most)
    for (let r = clamp(box[1], this.#rows - 1); r <= clamp(box[3], this.#rows - 1); r++)
      for (let c = clamp(box[0], this.#columns - 1); c <= clamp(box[2], this.#columns - 1); c++)
        bins.push(this.#bins[r * this.#columns + c])
    return bins
  }
}
