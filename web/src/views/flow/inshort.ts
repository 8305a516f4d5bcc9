import { percent, signed } from './figures'
import { shownWord } from './model'
import {
  chanceOf,
  chanceWithout,
  directOf,
  firstWithout,
  isVital,
  lensAt,
  lensName,
  looksAt,
  lostOf,
  measured,
  neededAt,
  partName,
  ranked,
  settledAt,
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

/** Nats that are worth a sentence: without the part a chance is a tenth lower or higher. */
export const WORTH = 0.1

/** What a part adds itself is little beside what is lost without it where it is less than this share. */
const LITTLE = 0.25

/** Of how many parts a sentence speaks, where not all were taken away. */
const someOf = (tried: number, of: number) => (tried < of ? ` of the ${tried} that were tried, of ${of},` : '')

/**
 * Why a transformer says a word, in a few sentences: the head and the MLP that it would miss most, the part that whatever is said needs,
 * what holds the word back, what taking away an ordinary part does, and from which layer on a lens reads the word. Parts are ranked by the
 * number that the picture writes beside them: what the word's log-probability loses without the part; of models that say no words, what the
 * score loses; and where nothing was taken away, what the part adds.
 */
export function inShort(stream: Stream, step: number, choice: number, score: Score, lens: Lens): Line[] {
  const id = (stream.arrays['choices'].data as Int32Array)[stream.place(step) * stream.choices + choice]
  const word = stream.words[id]
  const known = measured(score)
  if (!known && !stream.sums) return []
  const effect = (part: PartName) => (known ? lostOf(stream, score, part) : directOf(stream, score, part))
  const what = stream.model === 'encoder' ? 'score' : 'logit'
  const missed = (part: PartName): string => {
    const value = effect(part)
    if (!known) return `it adds ${signed(value)} to the ${what}`
    if (!score.byChance) return `without it the ${what} is ${Math.abs(value).toFixed(1)} ${value > 0 ? 'lower' : 'higher'}`
    const first = firstWithout(stream, step, part)
    const then =
      !first || value < 0
        ? ''
        : first.word === word
          ? '; it still comes first'
          : `; “${shownWord(first.word)}” comes first, with ${percent(first.chance)}`
    return `without it the chance is ${percent(chanceWithout(stream, step, choice, part))}${then}`
  }
  const all = ranked(stream, score).filter((part) => Number.isFinite(effect(part)))
  const heads = all.filter(({ head }) => head >= 0)
  const whole = stream.looked.length === stream.tokens.length
  /** How it raises the word: what it looks at, and whether later parts do most of it. */
  const acts = (part: PartName): string => {
    const [direct, total] = [directOf(stream, score, part), totalOf(stream, score, part)]
    const later = known && stream.sums && Math.abs(direct) < LITTLE * Math.abs(total)
    return [looksAt(stream, step, part), later ? 'raises it through later parts' : 'raises it'].filter(Boolean).join(' and ')
  }
  const vital = (part: PartName) => score.byChance && isVital(stream, step, part)
  const worth = score.byChance ? WORTH : 0.1 * (known ? score.mostTotal : score.most)
  const lines: Line[] = []
  // One MLP without which nothing works must not hide the others.
  const head = all.find((part) => part.head >= 0 && effect(part) > (score.byChance ? WORTH : Math.min(worth, 0.5)) && !vital(part))
  if (head) {
    lines.push({ part: head, text: `head ${head.layer}.${head.head} ${acts(head)}: ${missed(head)}.` })
  } else if (score.byChance)
    lines.push({ part: null, text: `No single head${someOf(heads.length, stream.layers * stream.heads)} makes up a tenth of the chance.` })
  const mlp = all.find((part) => part.head < 0 && effect(part) > worth && !vital(part))
  if (mlp) lines.push({ part: mlp, text: `MLP ${mlp.layer} adds what it has learned to go with what stands there: ${missed(mlp)}.` })
  const base = all.find(vital)
  if (base) {
    const places = neededAt(stream, base)
    const often =
      places > 1
        ? ` At ${places} of the ${stream.looked.length} tokens ${whole ? 'of the prompt' : `that were looked at, of ${stream.tokens.length} in the prompt`}, the likely words together keep less than a twentieth of their chance without it.`
        : ''
    lines.push({ part: base, text: `${partName(base)} is needed for whatever is said: ${missed(base)}.${often}` })
  }
  const against = all.find((part) => effect(part) < -worth)
  if (against) lines.push({ part: against, lowers: true, text: `${partName(against)} holds it back most: ${missed(against)}.` })
  if (score.byChance) {
    const kinds = [
      { name: 'head', of: stream.layers * stream.heads, chances: chancesWithout(heads) },
      { name: 'MLP', of: stream.layers, chances: chancesWithout(all.filter(({ head }) => head < 0)) },
    ].filter(({ chances }) => chances.length > 1)
    const told = kinds.map(
      ({ name, of, chances }) =>
        `without one ${name} or another the chance is ${percent(median(chances))} (median of ${chances.length}${chances.length < of ? ` that were tried, of ${of}` : ''}, from ${percent(chances[0])} to ${percent(chances[chances.length - 1])})`,
    )
    if (told.length) lines.push({ part: null, text: `To compare: ${told.join('; ')}.` })
  }
  if (stream.model !== 'encoder' && lensAt(stream, stream.nodes - 1, step)[0]?.word === word) {
    const since = Math.max(settledAt(stream, step, lens, 2) / 2 - 1, 0)
    // A fitted lens need not end with the model's own word.
    if (lensAt(stream, stream.nodes - 1, step, lens)[0]?.word === word)
      lines.push({ part: null, text: `From layer ${since} on, the ${lensName(lens)} reads “${shownWord(word)}” as the first word.` })
  }
  return lines

  function chancesWithout(parts: PartName[]): number[] {
    return parts.map((part) => chanceWithout(stream, step, choice, part)).sort((a, b) => a - b)
  }
}

/** Why one word leads another: the head and the MLP that speak most for it, and what speaks most for the other. */
export function whyRather(stream: Stream, step: number, choice: number, minus: number, score: Score): Told {
  const known = measured(score)
  const sign = score.score < 0 ? -1 : 1
  const ids = stream.arrays['choices'].data as Int32Array
  const spelled = (at: number) => `“${shownWord(stream.words[ids[stream.place(step) * stream.choices + at]])}”`
  const [first, other] = sign > 0 ? [spelled(choice), spelled(minus)] : [spelled(minus), spelled(choice)]
  const title = `Why ${first} rather than ${other}?`
  if (!known && !stream.sums) return { title, lines: [] }
  const effect = (part: PartName) => sign * (known ? lostOf(stream, score, part) : directOf(stream, score, part))
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
    const does = [looksAt(stream, step, head), `speaks for ${first}`].filter(Boolean).join(' and ')
    lines.push({ part: head, text: `${partName(head)} ${does}: ${missed(head)}.` })
  }
  const mlp = strongest((part) => part.head < 0 && effect(part) > worth)
  if (mlp) lines.push({ part: mlp, text: `${partName(mlp)} speaks for ${first}: ${missed(mlp)}.` })
  const against = strongest((part) => effect(part) < -worth)
  if (against) lines.push({ part: against, text: `${partName(against)} speaks for ${other}: ${missed(against)}.` })
  return { title, lines }
}

/** Of sorted values. */
function median(values: number[]): number {
  const half = values.length >> 1
  return values.length % 2 ? values[half] : (values[half - 1] + values[half]) / 2
}
