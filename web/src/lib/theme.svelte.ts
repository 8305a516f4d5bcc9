import type { Theme } from './colour'

const KEY = 'langscape-theme'

/** Light or dark: the reader's choice if one was made, else that of the page around, else the system's. */
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

  /** Be as light or dark as the notebook in which the element stands, whatever the system is. */
  follow(element: HTMLElement): void {
    this.#chosen = themeAround(element.isConnected ? element : document.body) ?? this.#chosen
  }

  /** Be as light or dark as the page was when it was saved; the reader's next choice is kept as any other. */
  begin(saved: Theme): void {
    this.#chosen = saved
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

/** Light or dark by the ground that an element stands on; null where nothing around it has one. */
export function themeAround(element: HTMLElement): Theme | null {
  for (let one: HTMLElement | null = element; one; one = one.parentElement) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(one).backgroundColor.match(/[\d.]+/g) ?? []).map(Number)
    if (blue !== undefined && alpha > 0.5) return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? 'dark' : 'light'
  }
  return null
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

export const theme = new Themes()
