import { Link, type Item } from './link.svelte'
import type { Shared } from './shared'

/** What a reader had set and chosen in a picture when it was saved as a page. */
export interface PageState {
  /** What the picture remembers: its colour, its zoom and the like. */
  values: Record<string, string>
  items: readonly Item[]
  focus: number | null
  theme: 'light' | 'dark'
}

const ID = 'langscape-state'

/** The page with what was set and chosen in it. The state is data: no script of the page changes, nor does its policy. */
export function withState(page: string, state: PageState): string {
  const text = JSON.stringify(state).replaceAll('<', '\\u003c')
  const end = page.lastIndexOf('<script>')
  return `${page.slice(0, end)}<script type="application/json" id="${ID}">${text}</script>\n${page.slice(end)}`
}

export function stateIn(page: Document): PageState | null {
  const text = page.getElementById(ID)?.textContent
  return text ? (JSON.parse(text) as PageState) : null
}

/** The state as a picture reads it. What the reader sets later lives as long as the page. */
export function sharedOf({ values, items, focus }: PageState): Shared {
  const kept = new Map(Object.entries(values))
  const link = new Link()
  link.set(items, focus)
  return {
    link,
    memory: {
      get: (name) => kept.get(name) ?? null,
      set: (name, value) => void (value === null ? kept.delete(name) : kept.set(name, value)),
    },
  }
}
