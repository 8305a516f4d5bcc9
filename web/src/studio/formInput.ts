import type { About, Input, InputKind } from './api'

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
    corpus: about.corpora,
  } as Partial<Record<InputKind, { id: string; name: string }[]>>
  const own = inputs.filter((one) => one.kind === kind && !one.id.startsWith('sample-'))
  return [...(samples[kind] ?? []), ...own].map(({ id, name }) => ({ id, name }))
}

/**
 * Restarts of an atlas that take about ten seconds at most: the cost grows with the heads and the square of the
 * tokens, and eight restarts of 72 heads over 200 tokens take nine seconds on one core.
 */
export function soonRestarts(characters: number, heads: number): number {
  const tokens = Math.max(characters / 4.5, 1)
  return Math.min(8, Math.max(2, Math.floor((8 * 72 * 200 ** 2) / (heads * tokens ** 2))))
}

/** A short name for a typed text: its first words. */
export function nameOf(text: string): string {
  const words = text.trim().split(/\s+/).slice(0, 4).join(' ')
  return (words.length > 28 ? `${words.slice(0, 27)}…` : words) || 'text'
}

/** The beginning of a text, cut between words: what a flow of vectors can be followed over. */
export function beginningOf(text: string, most = 240): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length <= most ? line : line.slice(0, line.lastIndexOf(' ', most) > 0 ? line.lastIndexOf(' ', most) : most)
}
