import type { Component, Snippet } from 'svelte'

import type { View } from './lib/view'
import Atlas from './views/atlas/Atlas.svelte'
import Attention from './views/attention/Attention.svelte'
import Flow from './views/flow/Flow.svelte'
import MaxAttention from './views/max_attention/MaxAttention.svelte'
import Scatter from './views/scatter/Scatter.svelte'

/** What every kind of view is given: its data, and what the page puts at the end of its tool bar. */
export interface ViewProps {
  view: View
  tools?: Snippet
}

/** Every kind of view, by the name that Python gives it. One line each. */
export const VIEWS: Record<string, Component<ViewProps>> = {
  atlas: Atlas,
  attention: Attention,
  flow: Flow,
  max_attention: MaxAttention,
  scatter: Scatter,
}
