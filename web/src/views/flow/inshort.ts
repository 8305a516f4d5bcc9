import { percent, signed } from './figures'
import { shownWord } from './model'
import {
  chanceWithout,
  directOf,
  lensAt,
  lensName,
  ranked,
  sourcesOf,
  totalOf,
  weightsOf,
  type Lens,
  type PartName,
  type Score,
  type Stream,
} from './stream'

/** One sentence of the answer; a part that it speaks of can be opened. */
export interface Line {
  part: PartName | null
  text: string
}

/** The token that a head brings most of a word's score from, the first one and the token itself left out; −1 where it reads no other. */
function readBy(stream: Stream, step: number, choice: number, { layer, head }: PartName): number {
  const given = sourcesOf(stream, step, choice, layer, head) ?? weightsOf(stream, layer, head, step)
  let best = -1
  for (let at = 1; at < step; at++) if (best < 0 || given[at] > given[best]) best = at
  return best >= 0 && given[best] > 0 ? best : -1
}

/**
 * Why a transformer says a word, in a few sentences: the head and the MLP that it would miss most, what holds the word back, and from
 * which layer on a lens reads it. Effects are total ones; without them, direct.
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
    return `without it the ${what} is ${lower}${Number.isFinite(without) ? ` and the chance ${percent(without)}` : ''}`
  }
  const all = ranked(stream, score).filter((part) => Number.isFinite(effect(part)))
  const strongest = (fits: (part: PartName) => boolean) =>
    all.filter(fits).reduce<PartName | null>((best, part) => (best && Math.abs(effect(best)) >= Math.abs(effect(part)) ? best : part), null)
  const worth = 0.1 * (known ? score.mostTotal : score.most)
  const lines: Line[] = []
  const head = strongest((part) => part.head >= 0 && effect(part) > worth)
  if (head) {
    const from = readBy(stream, step, choice, head)
    const does = from < 0 ? 'raises it' : `brings it something from “${shownWord(stream.tokens[from])}”`
    lines.push({ part: head, text: `head ${head.layer}.${head.head} ${does}: ${missed(head)}.` })
  }
  const mlp = strongest((part) => part.head < 0 && effect(part) > worth)
  if (mlp) lines.push({ part: mlp, text: `MLP ${mlp.layer} adds what it has learned to go with what stands there: ${missed(mlp)}.` })
  // A logit can rise while all others rise more: what holds a word back is what its chance is higher without.
  const chance = lensAt(stream, stream.nodes - 1, step).find((one) => one.word === word)?.value ?? NaN
  const against = strongest((part) => {
    const without = known ? chanceWithout(stream, step, choice, part) : NaN
    return effect(part) < -worth && !(without <= chance + 0.02)
  })
  if (against) {
    const name = against.head < 0 ? `MLP ${against.layer}` : `head ${against.layer}.${against.head}`
    lines.push({ part: against, text: `${name} holds it back: ${missed(against)}.` })
  }
  if (stream.model !== 'encoder' && lensAt(stream, stream.nodes - 1, step)[0]?.word === word) {
    let layer = stream.layers
    while (layer > 0 && lensAt(stream, 2 * layer, step, lens)[0]?.word === word) layer--
    const since = layer === stream.layers ? null : layer
    if (since !== null)
      lines.push({ part: null, text: `From layer ${since} on, the ${lensName(lens)} reads “${shownWord(word)}” as the first word.` })
  }
  return lines
}
