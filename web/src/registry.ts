import type { Component, Snippet } from 'svelte'

import type { Shared } from './lib/shared'
import type { View } from './lib/view'
import Atlas from './views/atlas/Atlas.svelte'
import Attention from './views/attention/Attention.svelte'
import Boxes from './views/boxes/Boxes.svelte'
import Edited from './views/edited/Edited.svelte'
import Effects from './views/effects/Effects.svelte'
import Ellipses from './views/ellipses/Ellipses.svelte'
import Matrices from './views/matrices/Matrices.svelte'
import Flow from './views/flow/Flow.svelte'
import MaxAttention from './views/max_attention/MaxAttention.svelte'
import Probe from './views/probe/Probe.svelte'
import QueryKey from './views/query_key/QueryKey.svelte'
import Scatter from './views/scatter/Scatter.svelte'
import Survey from './views/survey/Survey.svelte'

/**
 * What every kind of view is given: its data, what the page puts at the end of its tool bar, and, where views stand
 * together, the selection they share and the memory of what the reader set.
 */
export interface ViewProps {
  view: View
  tools?: Snippet
  shared?: Shared
}

/** Every kind of view, by the name that Python gives it. One line each. */
export const VIEWS: Record<string, Component<ViewProps>> = {
  atlas: Atlas,
  attention: Attention,
  boxes: Boxes,
  edited: Edited,
  effects: Effects,
  ellipses: Ellipses,
  matrices: Matrices,
  flow: Flow,
  max_attention: MaxAttention,
  probe: Probe,
  query_key: QueryKey,
  scatter: Scatter,
  survey: Survey,
}
