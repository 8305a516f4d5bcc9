import type { Link } from './link.svelte'

/** What the address of the studio remembers of a view: its colour, its zoom and the like, as short texts. */
export interface Memory {
  get(name: string): string | null
  set(name: string, value: string | null): void
}

/** What a place that shows several views gives each: one selection, and where to keep what the reader set. */
export interface Shared {
  link: Link
  memory: Memory
  /** Show another picture, such as one head of an atlas, where the place has a room for it. */
  /** The head that rooms of heads show, where one was chosen. */
  head?: () => { layer: number; head: number } | null
  go?: (room: string, values: Record<string, string | number>) => void
}
