import type { Theme } from './colour'
import { theme as themes } from './theme.svelte'

export interface Inks {
  ground: string
  raised: string
  ink: string
  soft: string
  line: string
  accent: string
}

/** The sheet's colours as canvases need them. Who gives the theme draws anew when it changes. */
export function ink(_: Theme): Inks {
  // The effect that sets the theme on the document belongs to the page and may run after the caller's.
  const values = getComputedStyle(themes.apply())
  const value = (name: string) => values.getPropertyValue(name).trim()
  return {
    ground: value('--ground'),
    raised: value('--raised'),
    ink: value('--ink'),
    soft: value('--soft'),
    line: value('--line-strong'),
    accent: value('--accent'),
  }
}
