import { formatCount } from '../lib/format'
import type { About, Input, InputKind, TokenCount } from './api'

/** What stands in a form for one input: the id of something the server has, or a text that was typed. */
export interface Given {
  id: string | null
  text: string | null
  changed: boolean
  name: string
}

export const NOTHING: Given = { id: null, text: null, changed: false, name: '' }

/** What can be chosen for an input of a kind: samples first, then what was uploaded, the newest first. */
export function choicesOf(about: About, inputs: Input[], kind: InputKind): { id: string; name: string }[] {
  const samples = {
    text: about.texts,
    vectors: about.vectors,
    words: about.lists,
    documents: about.lists,
    corpus: about.corpora,
  } as Partial<Record<InputKind, { id: string; name: string }[]>>
  const own = inputs.filter((one) => one.kind === kind && !one.id.startsWith('sample-'))
  return [...(samples[kind] ?? []), ...own].map(({ id, name }) => ({ id, name }))
}

/** Seconds of one restart of one head over so many tokens: eight restarts of 72 heads over 200 take nine seconds on one core. */
const perRestart = (tokens: number) => (9 / (8 * 72)) * (tokens / 200) ** 2

/** Seconds that an atlas takes, about: reading the text and scoring the heads, then every restart of every head. */
export function atlasSeconds(tokens: number, heads: number, restarts: number): number {
  return 1.5 + perRestart(tokens) * heads * restarts
}

/** Restarts of an atlas that take about ten seconds at most. */
export function soonRestarts(characters: number, heads: number): number {
  const tokens = Math.max(characters / 4.5, 1)
  return Math.min(8, Math.max(2, Math.floor(9 / (perRestart(tokens) * heads))))
}

/** Tokens below which a map says more of its few points than of the head. */
const FEW = 12
/** Words that the server names at most. */
const NAMED = 5

/** What a reader should know of a text before it is computed, in sentences; the first is the count. */
export function textNotes({ tokens, most, unknown, unknown_tokens, split, split_words }: TokenCount, isCut: boolean): string[] {
  const named = (words: string[]) => `${words.map((word) => `“${word}”`).join(', ')}${words.length === NAMED ? ' …' : ''}`
  const isLong = isCut && most !== null && tokens > most
  return [
    isLong
      ? `${formatCount(tokens)} tokens: the first ${formatCount(most)} of ${formatCount(tokens)} will be read, as many as the model takes at once.`
      : `${formatCount(tokens)} ${tokens === 1 ? 'token' : 'tokens'}.`,
    tokens > 0 && tokens < FEW ? 'So few tokens lie near each other in any case: every head looks local. Give a few sentences.' : '',
    unknown_tokens
      ? `${unknown_tokens === 1 ? 'One token is' : `${formatCount(unknown_tokens)} tokens are`} unknown to the model, which reads the same mark for each: ${named(unknown)}.`
      : '',
    split_words
      ? `${split_words === 1 ? 'One word is' : `${formatCount(split_words)} words are`} split into four pieces or more: ${named(split)}.`
      : '',
  ].filter(Boolean)
}

/** A short name for a typed text: its first words in quotation marks, or all of one with no more letters than `whole`. */
export function nameOf(text: string, whole = 0): string {
  // the server takes what stands before a slash for a folder
  const all = text.trim().replace(/[/\\]/g, '⁄').split(/\s+/)
  if (!all[0]) return 'text'
  if (text.trim().length <= whole) return quoted(all.join(' '))
  const words = all.slice(0, 4).join(' ')
  if (words.length > 28) return quoted(`${words.slice(0, 27)}…`)
  return quoted(all.length > 4 ? `${words} …` : words)
}

/** A name in quotation marks, which that of a typed text has already. */
export function quoted(name: string): string {
  return /^“.*”$/.test(name) ? name : `“${name}”`
}

/** The beginning of a text, cut between words: what a flow of vectors can be followed over. */
export function beginningOf(text: string, most = 240): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= most ? line : line.slice(0, line.lastIndexOf(' ', most) > 0 ? line.lastIndexOf(' ', most) : most)
}
