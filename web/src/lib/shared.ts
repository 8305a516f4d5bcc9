import type { Link } from './link.svelte'

/** What the address of the studio remembers of a view: its colour, its zoom and the like, as short texts. */
export interface Memory {
  get(name: string): string | null
  set(name: string, value: string | null): void
  /** Tells the reader that a value stands there which means nothing here. */
  failAddress?(name: string, value: string): void
}

/** What is remembered, where it is one of the known; the reader is told of anything else. */
export function oneOf(memory: Memory | undefined, name: string, known: readonly string[]): string | null {
  const value = memory?.get(name) ?? null
  if (value === null || known.includes(value)) return value
  memory?.failAddress?.(name, value)
  return null
}

/** What can be asked for from within a picture: an analysis of the same model and text, as a job like any other. */
export interface Action {
  /** What the button says. */
  label: string
  analysis: string
  settings: Record<string, unknown>
  /** What the address says of the result: the picture, and its parameters. */
  show?: Record<string, string | number>
}

export type PictureKind = 'png' | 'svg'

/** What a place that shows several views gives each: one selection, and where to keep what the reader set. */
export interface Shared {
  link: Link
  memory: Memory
  /** Show another picture, such as one head of an atlas, where the place has a room for it. */
  /** The head that rooms of heads show, where one was chosen. */
  head?: () => { layer: number; head: number } | null
  /** Takes the way to draw what is on screen, and gives the way to withdraw it. */
  offerPicture?: (draw: (kind: PictureKind) => Promise<Blob>) => () => void
  /** Other rooms of heads show this one from now on. */
  carry?: (head: { layer: number; head: number }) => void
  go?: (room: string, values: Record<string, string | number>) => void
  /** Run something else on the text and model of what is shown, and show it with these values of the address. */
  ask?: (action: Action) => void
}
