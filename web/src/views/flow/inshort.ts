import { percent, signed } from './figures'
import { shownWord } from './model'
import {
  chanceOf,
  chanceWithout,
  directOf,
  firstWithout,
  lensAt,
  lensName,
  movesAll,
  partName,
  ranked,
  readBy,
  totalOf,
  type Lens,
  type PartName,
  type Score,
  type Stream,
} from './stream'

/** One sentence of the answer; a part that it speaks of can be opened. */
export interface Line {
  part: PartName | null
  /** Whether the part lowers the word. */
  lowers?: boolean
  text: string
}

/** A question and its answer. */
export interface Told {
  title: string
  lines: Line[]
}

/** Why a transformer says a word, or one word rather than another where `minus` is one. */
export function inWords(stream: Stream, step: number, choice: number, minus: number, score: Score, lens: Lens): Told {
  if (minus >= 0) return whyRather(stream, step, choice, minus, score)
  const word = stream.words[(stream.arrays['choices'].data as Int32Array)[stream.place(step) * stream.choices + choice]]
  const chance = stream.model === 'encoder' ? NaN : chanceOf(stream, step, choice)
  const title = `Why “${shownWord(word)}”${Number.isFinite(chance) ? `, ${percent(chance)}` : ''}?`
  return { title, lines: inShort(stream, step, choice, score, lens) }
}

/** Whether the words that were likely have next to no chance without a part: then it is needed for whatever is said, not for one word. */
function needed(stream: Stream, step: number, part: PartName): boolean {
  const all = Array.from({ length: stream.choices }, (_, choice) => choice)
  const sum = (of: (choice: number) => number) => all.reduce((total, choice) => total + (of(choice) || 0), 0)
  const without = sum((choice) => chanceWithout(stream, step, choice, part))
  return Number.isFinite(chanceWithout(stream, step, 0, part)) && without < 0.05 * sum((choice) => chanceOf(stream, step, choice))
}

/**
 * Why a transformer says a word, in a few sentences: the head and the MLP that it would miss most, what holds the word back, and from
 * which layer on a lens reads it. Parts are ranked by the number that the picture writes beside them: the total effect on the logit; where
 * that was not measured, the direct one. A logit can rise while all others rise more, so parts that move all words alike are left out.
 */
export function inShort(stream: Stream, step: number, choice: number, score: Score, lens: Lens): Line[] {
  const id = (stream.arrays['choices'].data as Int32Array)[stream.place(step) * stream.choices + choice]
  const word = stream.words[id]
  const known = score.totalHeads.some(Number.isFinite) || score.totalMlp.some(Number.isFinite)
  if (!known && !stream.sums) return []
  const effect = (part: PartName) => (known ? totalOf(stream, score, part) : directOf(stream, score, part))
  const what = stream.model === 'encoder' ? 'score' : 'logit'
  const missed = (part: PartName): string => {
    const value = effect(part)
    if (!known) return `it adds ${signed(value)} to the ${what}`
    const without = chanceWithout(stream, step, choice, part)
    const lower = `${Math.abs(value).toFixed(1)} ${value > 0 ? 'lower' : 'higher'}`
    const first = firstWithout(stream, step, part)
    const then =
      !first || value < 0
        ? ''
        : first.word === word
          ? '; it still comes first'
          : `; “${shownWord(first.word)}” comes first, with ${percent(first.chance)}`
    return `without it the ${what} is ${lower}${Number.isFinite(without) ? ` and the chance ${percent(without)}` : ''}${then}`
  }
  const all = ranked(stream, score).filter(
    (part) => Number.isFinite(effect(part)) && !(known && movesAll(stream, step, choice, -1, effect(part), part)),
  )
  const strongest = (fits: (part: PartName) => boolean) =>
    all.filter(fits).reduce<PartName | null>((best, part) => (best && Math.abs(effect(best)) >= Math.abs(effect(part)) ? best : part), null)
  const worth = 0.1 * (known ? score.mostTotal : score.most)
  const lines: Line[] = []
  // One MLP without which nothing works must not hide the heads.
  const head = strongest((part) => part.head >= 0 && effect(part) > Math.min(worth, 0.5))
  if (head) {
    const from = readBy(stream, step, choice, head)
    const does = from < 0 ? 'raises it' : `brings it something from “${shownWord(stream.tokens[from])}”`
    lines.push({ part: head, text: `head ${head.layer}.${head.head} ${does}: ${missed(head)}.` })
  }
  const mlp = strongest((part) => part.head < 0 && effect(part) > worth)
  if (mlp) {
    const does = needed(stream, step, mlp) ? 'is needed for whatever comes next' : 'adds what it has learned to go with what stands there'
    lines.push({ part: mlp, text: `MLP ${mlp.layer} ${does}: ${missed(mlp)}.` })
  }
  const against = strongest((part) => effect(part) < -worth)
  if (against) lines.push({ part: against, lowers: true, text: `${partName(against)} holds it back most: ${missed(against)}.` })
  if (stream.model !== 'encoder' && lensAt(stream, stream.nodes - 1, step)[0]?.word === word) {
    let layer = stream.layers
    while (layer > 0 && lensAt(stream, 2 * layer, step, lens)[0]?.word === word) layer--
    const since = layer === stream.layers ? null : layer
    if (since !== null)
      lines.push({ part: null, text: `From layer ${since} on, the ${lensName(lens)} reads “${shownWord(word)}” as the first word.` })
  }
  return lines
}

/** Why one word leads another: the head and the MLP that speak most for it, and what speaks most for the other. */
export function whyRather(stream: Stream, step: number, choice: number, minus: number, score: Score): Told {
  const known = score.totalHeads.some(Number.isFinite) || score.totalMlp.some(Number.isFinite)
  const sign = score.score < 0 ? -1 : 1
  const ids = stream.arrays['choices'].data as Int32Array
  const spelled = (at: number) => `“${shownWord(stream.words[ids[stream.place(step) * stream.choices + at]])}”`
  const [first, other] = sign > 0 ? [spelled(choice), spelled(minus)] : [spelled(minus), spelled(choice)]
  const title = `Why ${first} rather than ${other}?`
  if (!known && !stream.sums) return { title, lines: [] }
  const effect = (part: PartName) => sign * (known ? totalOf(stream, score, part) : directOf(stream, score, part))
  const all = ranked(stream, score).filter((part) => Number.isFinite(effect(part)))
  const strongest = (fits: (part: PartName) => boolean) =>
    all.filter(fits).reduce<PartName | null>((best, part) => (best && Math.abs(effect(best)) >= Math.abs(effect(part)) ? best : part), null)
  const worth = 0.1 * (known ? score.mostTotal : score.most)
  const missed = (part: PartName) =>
    known
      ? `without it the lead is ${Math.abs(effect(part)).toFixed(1)} ${effect(part) > 0 ? 'smaller' : 'larger'}`
      : `it adds ${signed(effect(part))} to the lead`
  const what = stream.model === 'encoder' ? 'score' : 'logit'
  const lines: Line[] = [{ part: null, text: `The ${what} of ${first} is ${Math.abs(score.score).toFixed(1)} above that of ${other}.` }]
  const head = strongest((part) => part.head >= 0 && effect(part) > Math.min(worth, 0.5))
  if (head) {
    const from = readBy(stream, step, choice, head, minus, sign)
    const does = from < 0 ? `speaks for ${first}` : `speaks for ${first}, by what it reads at “${shownWord(stream.tokens[from])}”`
    lines.push({ part: head, text: `${partName(head)} ${does}: ${missed(head)}.` })
  }
  const mlp = strongest((part) => part.head < 0 && effect(part) > worth)
  if (mlp) lines.push({ part: mlp, text: `${partName(mlp)} speaks for ${first}: ${missed(mlp)}.` })
  const against = strongest((part) => effect(part) < -worth)
  if (against) lines.push({ part: against, text: `${partName(against)} speaks for ${other}: ${missed(against)}.` })
  return { title, lines }
}
