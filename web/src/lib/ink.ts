import type { Theme } from './colour'

export interface Inks {
  ground: string
  raised: string
  ink: string
  soft: string
  line: string
  accent: string
}

/** The sheet's colours as canvases need them. */
export function ink(theme: Theme): Inks {
  // The effect that sets the theme on the document belongs to the page and may run after the caller's.
  document.documentElement.dataset.theme = theme
  const values = getComputedStyle(document.documentElement)
  const value = (name: string) => values.getPropertyValue(name).trim()
  return { ground: value('--ground'), raised: value('--raised'), ink: value('--ink'), soft: value('--soft'), line: value('--line-strong'), accent: value('--accent') }
}
