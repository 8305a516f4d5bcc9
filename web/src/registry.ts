import type { Component, Snippet } from 'svelte'

import type { View } from './lib/view'
import Scatter from './views/scatter/Scatter.svelte'

/** What every kind of view is given: its data, and what the page puts at the end of its tool bar. */
export interface ViewProps {
  view: View
  tools?: Snippet
}

/** Every kind of view, by the name that Python gives it. One line each. */
export const VIEWS: Record<string, Component<ViewProps>> = {
  scatter: Scatter,
}
