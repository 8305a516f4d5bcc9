import { percent } from './figures'
import { shownWord, type Lstm } from './model'
import { listed, unitOf } from './units'

/** What is put to its mean at the step that predicts, in the order of the array, and what it decides. */
const GATES = [
  { gate: 'forget', does: 'what is kept of the cells' },
  { gate: 'input', does: 'what is added to them' },
  { gate: 'output', does: 'what of the cells is let out' },
] as const

/** A change of chance that is worth a sentence: a tenth of the chance, and half a point. */
const SHARE = 0.1
const POINTS = 0.005

/** Stands behind the chance of a run that is outside of what the model does. */
export const MARK = '\u2009*'

/** What the model would say with one thing changed: the chance of the word, and the word that then comes first. */
export interface Without {
  chance: number
  first: string
  firstChance: number
  /** More values of cells and hidden vectors leave their usual ranges than at all but one of a hundred ordinary steps. */
  outside: boolean
  strays: number
}

/** A word of the text, and what becomes of the next word without it. */
export interface Word {
  step: number
  back: number
  token: string
  /** The text does not hold it; it is read, and the mean is written in place of what it writes. */
  skipped: Without
  written: Without
}

/** One sentence; a word that it speaks of is a step, a unit can be opened, and what it names of the graph can be lit there. */
export interface Said {
  text: string
  names?: { name: string; nodes: string[] }[]
  step?: number
  unit?: { layer: number; dim: number }
}

/** The row of what was measured at a step, −1 where nothing was: of a long text, the last steps are. */
export function measuredAt(flow: Lstm, step: number): number {
  const rows = flow.arrays['skipped']?.shape[0] ?? 0
  return step - (flow.tokens.length - rows)
}

/** The words that were read up to a step, the last first, with the chances of one next word without each. */
export function wordsWithout(flow: Lstm, step: number, choice: number): Word[] {
  const row = measuredAt(flow, step)
  if (!flow.arrays['skipped'] || row < 0) return []
  const backs = flow.arrays['skipped'].shape[1]
  return Array.from({ length: Math.min(backs, step + 1) }, (_, back) => ({
    step: step - back,
    back,
    token: flow.tokens[step - back],
    skipped: without(flow, 'skipped', [row, back], choice),
    written: without(flow, 'written', [row, back], choice),
  }))
}

/** Why an LSTM says a word, in sentences; each number is that of a run in which the one thing named was changed. */
export function whyWord(flow: Lstm, step: number, choice: number): Said[] {
  const row = measuredAt(flow, step)
  const words = wordsWithout(flow, step, choice)
  if (!words.length) return []
  const chance = at(flow, 'top_chances', step, choice)
  const word = flow.words[at(flow, 'top', step, choice)]
  const falls = (one: number) => chance - one >= Math.max(SHARE * chance, POINTS)
  const rises = (one: number) => one - chance >= Math.max(SHARE * chance, POINTS)
  const then = ({ first, firstChance }: Without) =>
    first === word ? 'it still comes first' : `“${shownWord(first)}” comes first, with ${percent(firstChance)}`
  const lines: Said[] = []
  const named = (name: string, ...vectors: string[]) => ({ name, nodes: nodesOf(flow, ...vectors) })
  /** A chance, marked where the run is outside of what the model does: what the mark means is said once, below the sentences. */
  const chanceIn = ({ chance, outside }: Without) => `${percent(chance)}${outside ? MARK : ''}`

  // The start is no word of the text that could be left out of it.
  const said = words.filter((one) => !(flow.start && one.step === 0))
  const strongest = (of: Word[]) =>
    of.reduce<Word | null>((best, one) => (best && best.skipped.chance <= one.skipped.chance ? best : one), null)
  const most = strongest(said)
  const before = strongest(said.filter(({ back }) => back > 0))
  const earlier = before && falls(before.skipped.chance) ? before : null
  const alone = said.length > 1 ? without(flow, 'alone', [row], choice) : null
  /** The last word says it alone, and yet the text without one word before does not: what is left of the text is against it. */
  const isEnough = alone !== null && !falls(alone.chance)
  if (most && most.back > 0 && earlier && isEnough) {
    // The sentence on the last word alone says what the earlier one does.
  } else if (most && falls(most.skipped.chance)) {
    lines.push({
      step: most.step,
      text: `${wordOf(most)} carries most: in a text without it the chance is ${chanceIn(most.skipped)}, and ${then(most.skipped)}.`,
    })
    const lost = (chance - most.written.chance) / (chance - most.skipped.chance)
    const so =
      lost < 0.3
        ? 'it acts through the gates that it opens and shuts, not through what it writes'
        : lost > 0.7
          ? 'it acts through what it writes'
          : 'it acts both through what it writes and through the gates that it opens and shuts'
    lines.push({
      step: most.step,
      names: [named('what it writes', 'remember_product'), named('the gates', 'forget', 'input', 'output')],
      text: `If the cells get their mean instead of what it writes, the chance is ${chanceIn(most.written)}: ${so}.`,
    })
    if (most.back === 0 && earlier && !isEnough)
      lines.push({
        step: earlier.step,
        text: `Of what was read before, ${wordOf(earlier)} matters most: in a text without it the chance is ${chanceIn(earlier.skipped)}${earlier.skipped.first === word ? '' : `, and ${then(earlier.skipped)}`}.`,
      })
  } else if (most)
    lines.push({
      text:
        said.length === 1
          ? `“${shownWord(most.token)}” does not carry it: in a text without it the chance is ${chanceIn(most.skipped)}.`
          : `No single word carries it: in a text without any one of the last ${said.length} words the chance is at least ${chanceIn(most.skipped)}.`,
    })
  const against = said.reduce<Word | null>((best, one) => (best && best.skipped.chance >= one.skipped.chance ? best : one), null)
  if (against && rises(against.skipped.chance))
    lines.push({
      step: against.step,
      text: `${wordOf(against)} holds it back: in a text without it the chance is ${chanceIn(against.skipped)}.`,
    })
  if (alone) {
    const rest = !isEnough
      ? 'the rest comes from what is remembered of the words before'
      : rises(alone.chance)
        ? 'the words before hold it back'
        : 'the words before are not needed for it'
    const against =
      isEnough && earlier
        ? ` But where ${wordOf(earlier)} is missing, the others before speak against it: in a text without it the chance is ${chanceIn(earlier.skipped)}${earlier.skipped.first === word ? '' : `, and ${then(earlier.skipped)}`}.`
        : ''
    lines.push({
      ...(against && earlier && { step: earlier.step }),
      text: `In a text of “${shownWord(flow.tokens[step])}” alone the chance is ${chanceIn(alone)}${alone.first === word ? '' : `, and ${then(alone)}`}: ${rest}.${against}`,
    })
  }
  GATES.forEach(({ gate, does }, i) => {
    const held = without(flow, 'held', [row, i], choice)
    if (falls(held.chance) || rises(held.chance))
      lines.push({
        names: [named(`${gate} gates`, gate)],
        text: `The ${gate} gates of this step decide ${does}: with all of them at their means the chance would be ${chanceIn(held)}${held.first === word ? '' : `, and ${then(held)}`}.`,
      })
  })
  const left = at(flow, 'unit_chance', row, choice)
  const units = flow.arrays['cell'].shape[2]
  const number = at(flow, 'unit', row, choice)
  const [layer, dim] = [Math.floor(number / units), number % units]
  const count = flow.layers * units
  const known = unitOf(flow, layer, dim)
  lines.push(
    falls(left)
      ? {
          unit: { layer, dim },
          text: `Unit ${dim}${flow.layers > 1 ? ` of layer ${layer}` : ''}${known && known.told > known.most ? `, usually highest after ${listed(known.high)},` : ''} remembers most of it: with the cell of that one unit of ${count} at its mean, the chance would be ${percent(left)}.`,
        }
      : {
          text: `No single unit remembers it: with the cell of any one of the ${count} units at its mean, the chance would be at least ${percent(left)}.`,
        },
  )
  return lines
}

/** What the mark means, said once of all that bear it; empty where nothing does. */
export function marksInWords(flow: Lstm, step: number, lines: Said[], words: Word[]): string {
  const runs = words.flatMap(({ skipped, written }) => [skipped, written])
  const row = measuredAt(flow, step)
  if (flow.arrays['held'] && row >= 0)
    runs.push(...GATES.map((_, i) => without(flow, 'held', [row, i], 0)), without(flow, 'alone', [row], 0))
  const strays = runs.filter(({ outside }) => outside).map((one) => one.strays)
  if (!flow.usual || !strays.length || !(lines.some(({ text }) => text.includes(MARK)) || words.some(isOutside))) return ''
  return `* These runs are outside of what the model does: up to ${Math.max(...strays)} of ${flow.usual.values} values of its cells and hidden vectors leave their usual ranges, where at most ${flow.usual.strays} do in 99 of 100 ordinary steps. Trust them less.`
}

const isOutside = ({ skipped, written }: Word) => skipped.outside || written.outside

/** The vectors of these names in all layers. */
export function nodesOf(flow: Lstm, ...names: string[]): string[] {
  return Array.from({ length: flow.layers }, (_, layer) => names.map((name) => `l${layer}.${name}`)).flat()
}

function wordOf({ token, back }: Word): string {
  const word = `“${shownWord(token)}”`
  return back === 0 ? `${word}, the word just read,` : back === 1 ? `${word}, one word before,` : `${word}, ${back} words before,`
}

function without(flow: Lstm, name: string, place: number[], choice: number): Without {
  const strays = at(flow, `${name}_strays`, ...place)
  return {
    chance: at(flow, name, ...place, choice),
    first: flow.words[at(flow, `${name}_first`, ...place)] ?? '',
    firstChance: at(flow, `${name}_first_chance`, ...place),
    outside: strays > (flow.usual?.strays ?? Infinity),
    strays,
  }
}

/** One number of an array, by its indices. */
function at(flow: Lstm, name: string, ...indices: number[]): number {
  const { data, shape } = flow.arrays[name]
  return Number(data[indices.reduce((place, index, axis) => place * shape[axis] + index, 0)])
}
