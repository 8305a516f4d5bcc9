import type { Analysis, Job } from './api'

/** What every room reads: the model, the text by its id, and the head. A part that nobody chose is null. */
export interface Context {
  model: string | null
  text: string | null
  layer: number | null
  head: number | null
}

/** Settings as they are carried: names, numbers, and edits as they are written. */
export type CarriedSettings = Record<string, string | number | string[]>

/** The parts of the context that an analysis takes, as a request has them. */
export interface Carried {
  settings: CarriedSettings
  text: string
}

/**
 * What an analysis takes of the context: null for one that reads no text, and where no text is chosen. `after` is for
 * hidden states, which are numbered from the embedding: what layer 3 gives is state 4.
 */
export function carriedBy({ settings, inputs }: Pick<Analysis, 'settings' | 'inputs'>, context: Context, after = false): Carried | null {
  if (context.text === null || !inputs.some(({ name }) => name === 'text')) return null
  const known = new Set(settings.map(({ name }) => name))
  const layer = context.layer === null ? null : context.layer + Number(after)
  // A head without its layer says nothing.
  const all = { model: context.model, layer, head: context.layer === null ? null : context.head }
  const taken = Object.entries(all).filter((one): one is [string, string | number] => known.has(one[0]) && one[1] !== null)
  return { settings: Object.fromEntries(taken), text: context.text }
}

/** What an analysis without a text takes of a job of the same room: its model, and the prompt where both have one. */
export function readBy(
  { settings, inputs }: Pick<Analysis, 'settings' | 'inputs'>,
  from: Pick<Job, 'settings'>,
): Record<string, string> | null {
  if (inputs.some(({ name }) => name === 'text')) return null
  const known = new Set(settings.map(({ name }) => name))
  const taken = ['model', 'prompt'].flatMap((name) => {
    const value = from.settings[name]
    return known.has(name) && typeof value === 'string' ? [[name, value]] : []
  })
  return taken.length ? Object.fromEntries(taken) : null
}

/** Whether a job shows what is carried. */
export function fits({ settings, inputs }: Pick<Job, 'settings' | 'inputs'>, carried: Carried): boolean {
  return (
    inputs['text']?.id === carried.text &&
    Object.entries(carried.settings).every(([name, value]) => JSON.stringify(settings[name]) === JSON.stringify(value))
  )
}

/** Whether other rooms show another text, model or head than a job does. What else it was asked with is its room's own. */
export function isOfOther({ settings, inputs }: Pick<Job, 'settings' | 'inputs'>, carried: Carried): boolean {
  const wanted = carried.settings
  if (inputs['text']?.id !== carried.text) return true
  if (['model', 'edits'].some((name) => name in wanted && JSON.stringify(settings[name]) !== JSON.stringify(wanted[name]))) return true
  const place = (of: Record<string, unknown>, which = '') => `${of[`${which}layer`]}.${of[`${which}head`]}`
  if (!('other_layer' in wanted)) return 'layer' in wanted && place(settings) !== place(wanted)
  // whoever turned from heads to hidden states knows that other rooms show a head
  if (settings['what'] !== undefined && settings['what'] !== wanted['what']) return false
  // of two that are compared one is the head of the other rooms
  return 'head' in wanted && ![place(settings), place(settings, 'other_')].includes(place(wanted))
}

/** Whether a model has such a layer and head; one whose size is not known may have any. */
export function isWithin(
  { layer, head }: Pick<Context, 'layer' | 'head'>,
  size: { layers?: number | null; heads?: number | null } | null,
): boolean {
  return (layer ?? 0) < (size?.layers ?? Infinity) && (head ?? 0) < (size?.heads ?? Infinity)
}

/** What a job that somebody asked for says of the context: what it does not say stays as it was. */
export function contextOf({ analysis, settings, inputs }: Pick<Job, 'analysis' | 'settings' | 'inputs'>): Partial<Context> {
  if (!inputs['text']) return {}
  const { model, layer, head } = settings
  const isHead = analysis !== 'compare' && typeof layer === 'number' && typeof head === 'number'
  return { text: inputs['text'].id, ...(typeof model === 'string' && { model }), ...(isHead && { layer, head }) }
}
