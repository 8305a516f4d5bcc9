import { expect, it } from 'vitest'

import type { Analysis, Job } from './api'
import { carriedBy, contextOf, fits, isOfOther, isWithin, readBy, type Carried } from './context'

const analysis = (settings: string[], inputs = ['text']) =>
  ({ settings: settings.map((name) => ({ name })), inputs: inputs.map((name) => ({ name })) }) as unknown as Analysis
const job = (analysis: string, settings: Job['settings'], text: string | null = 'mine') =>
  ({ analysis, settings, inputs: text ? { text: { id: text, name: text } } : {} }) as unknown as Job

const CONTEXT = { model: 'decoder', text: 'mine', layer: 1, head: 8 }

it('an analysis takes the parts of the context that it knows', () => {
  expect(carriedBy(analysis(['model', 'layer', 'head']), CONTEXT)).toEqual({
    settings: { model: 'decoder', layer: 1, head: 8 },
    text: 'mine',
  })
  expect(carriedBy(analysis(['model', 'restarts']), CONTEXT)).toEqual({ settings: { model: 'decoder' }, text: 'mine' })
  expect(carriedBy(analysis(['model'], ['vectors']), CONTEXT)).toBeNull()
  expect(carriedBy(analysis(['model']), { ...CONTEXT, text: null })).toBeNull()
})

it('hidden states are numbered from the embedding', () => {
  expect(carriedBy(analysis(['model', 'layer']), CONTEXT, true)?.settings).toEqual({ model: 'decoder', layer: 2 })
})

it('a head without its layer is not taken', () => {
  expect(carriedBy(analysis(['layer', 'head']), { ...CONTEXT, layer: null })?.settings).toEqual({})
})

it('a job fits where text, model, layer and head are the same', () => {
  const carried = carriedBy(analysis(['model', 'layer', 'head']), CONTEXT)!
  expect(fits(job('head', { model: 'decoder', layer: 1, head: 8, restarts: 20 }), carried)).toBe(true)
  expect(fits(job('head', { model: 'decoder', layer: 1, head: 9 }), carried)).toBe(false)
  expect(fits(job('head', { model: 'decoder', layer: 1, head: 8 }, 'other'), carried)).toBe(false)
  expect(fits(job('words', {}, null), carried)).toBe(false)
})

it('other rooms show something else where text, model or head differ, and nowhere else', () => {
  const of = (settings: Carried['settings']) => ({ settings, text: 'mine' })
  const head = { model: 'default', layer: 2, head: 11 }
  expect(isOfOther(job('effects', { model: 'default', first_tokens: 64 }), of({ model: 'default', first_tokens: 512 }))).toBe(false)
  expect(isOfOther(job('why', { ...head, query: 3 }), of({ ...head, query: 9 }))).toBe(false)
  expect(isOfOther(job('why', { ...head, head: 10 }), of(head))).toBe(true)
  expect(isOfOther(job('why', head, 'other'), of(head))).toBe(true)
  expect(isOfOther(job('edit', { model: 'default', edits: ['head 1.8 mean'] }), of({ model: 'default', edits: ['head 2.11 mean'] }))).toBe(
    true,
  )
  const pair = { ...head, what: 'head', other_layer: 2, other_head: 10 }
  expect(isOfOther(job('compare', { ...pair, head: 3, other_head: 11 }), of(pair))).toBe(false)
  expect(isOfOther(job('compare', { ...pair, head: 3 }), of(pair))).toBe(true)
  const states = { model: 'default', what: 'hidden', layer: 1, other_layer: 6 }
  expect(isOfOther(job('compare', { ...states, layer: 2 }), of(states))).toBe(false)
  // whoever turned from heads to hidden states is not told of the heads
  expect(isOfOther(job('compare', states), of(pair))).toBe(false)
})

it('a job that was asked for says what it knows of the context', () => {
  expect(contextOf(job('query_key', { model: 'default', layer: 3, head: 5 }))).toEqual({
    text: 'mine',
    model: 'default',
    layer: 3,
    head: 5,
  })
  expect(contextOf(job('hidden', { model: 'default', layer: 3 }))).toEqual({ text: 'mine', model: 'default' })
  expect(contextOf(job('compare', { model: 'default', layer: 3, head: 5 }))).toEqual({ text: 'mine', model: 'default' })
  expect(contextOf(job('words', {}, null))).toEqual({})
})

it('what comes next reads the model and the prompt of the flow, probes its model, and analyses of a text neither', () => {
  const flow = job('flow', { model: 'lstm', prompt: 'the people', top: 8 }, null)
  expect(readBy(analysis(['model', 'prompt', 'count'], []), flow)).toEqual({ model: 'lstm', prompt: 'the people' })
  expect(readBy(analysis(['model', 'vector'], ['texts']), flow)).toEqual({ model: 'lstm' })
  expect(readBy(analysis(['model', 'prompt']), flow)).toBeNull()
  expect(readBy(analysis(['restarts'], []), flow)).toBeNull()
})

it('a head that the model does not have is not carried to it', () => {
  const decoder = { layers: 30, heads: 9 }
  expect(isWithin({ layer: 2, head: 9 }, decoder)).toBe(false)
  expect(isWithin({ layer: 30, head: 0 }, decoder)).toBe(false)
  expect(isWithin({ layer: 2, head: 8 }, decoder)).toBe(true)
  expect(isWithin({ layer: null, head: null }, decoder)).toBe(true)
  expect(isWithin({ layer: 40, head: 40 }, null)).toBe(true)
})
