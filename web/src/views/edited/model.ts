import type { View } from '../../lib/view'

/** One token of a text that was read with an edit. Numbers are NaN where they are not known. */
export interface EditedToken {
  at: number
  token: string
  effect: number
  /** What other edits of the same kind change here: in the middle, and at most. */
  othersMedian: number
  othersMost: number
  /** The likeliest next token of both runs with its chance; empty of an encoder. */
  before: string
  beforeChance: number
  after: string
  afterChance: number
}

export interface EditedModel {
  title: string
  subtitle: string
  measure: string
  /** What is replaced instead, to compare with; empty where there is nothing. */
  othersName: string
  tokens: EditedToken[]
  /** The tallest bar. */
  most: number
  notes: string[]
}

export function readEdited(view: View): EditedModel {
  const { title, subtitle, measure, others_name, labels, before, after, notes } = view.properties as {
    title: string
    subtitle: string
    measure: string
    others_name: string
    labels: string[]
    before: string[]
    after: string[]
    notes: string[]
  }
  const number = (name: string, at: number) => view.arrays[name]?.data[at] ?? NaN
  const tokens = labels.map((token, at) => ({
    at,
    token,
    effect: number('effect', at),
    othersMedian: number('others_median', at),
    othersMost: number('others_most', at),
    before: before[at] ?? '',
    beforeChance: number('before_chance', at),
    after: after[at] ?? '',
    afterChance: number('after_chance', at),
  }))
  const values = tokens.map(({ effect }) => effect).filter(Number.isFinite)
  return { title, subtitle, measure, othersName: others_name, tokens, most: Math.max(...values, 1e-12), notes }
}

/** Whether the edit changes more at a token than any of the others does. */
export function isBeyond({ effect, othersMost }: EditedToken): boolean {
  return effect > othersMost
}

/** The tokens where most changes, the first first. */
export function strongest(tokens: EditedToken[], most: number): EditedToken[] {
  return [...tokens].sort((a, b) => b.effect - a.effect || a.at - b.at).slice(0, most)
}
