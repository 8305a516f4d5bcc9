import type { Theme } from './colour'

const KEY = 'langscape-theme'

/** Light or dark: the reader's choice if one was made, else the system's. */
class Themes {
  #system = $state<Theme>('light')
  #chosen = $state<Theme | null>(null)

  constructor() {
    const query = globalThis.matchMedia?.('(prefers-color-scheme: dark)')
    if (!query) return
    this.#system = query.matches ? 'dark' : 'light'
    query.addEventListener('change', (event) => (this.#system = event.matches ? 'dark' : 'light'))
    const stored = remembered()
    if (stored === 'light' || stored === 'dark') this.#chosen = stored
  }

  /** Elements that carry the theme: the document, or in a notebook the cells. */
  readonly #roots = new Set<HTMLElement>()

  /** Draw in this element instead of the whole document. Gives back what ends it. */
  drawnIn(element: HTMLElement): () => void {
    this.#roots.add(element)
    return () => this.#roots.delete(element)
  }

  /** Sets the theme where it is drawn, and gives an element whose colours are the theme's. */
  apply(): HTMLElement {
    const roots = this.#roots.size ? [...this.#roots] : [document.documentElement]
    for (const root of roots) root.dataset.theme = this.current
    return roots[roots.length - 1]
  }

  get current(): Theme {
    return this.#chosen ?? this.#system
  }

  toggle(): void {
    this.#chosen = this.current === 'dark' ? 'light' : 'dark'
    try {
      localStorage.setItem(KEY, this.#chosen)
    } catch {
      // Some browsers keep no storage for files; the choice then lasts as long as the page.
    }
  }
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

export const theme = new Themes()
