import { expect, it } from 'vitest'

import type { About, Analysis, Job, Setting } from './api'
import { jobFacts, modelName, settingsInWords } from './settingsInWords'

const setting = (name: string, label: string, usual: Setting['default'], choices: Setting['choices'] = null): Setting => ({
  name,
  label,
  type: choices ? 'choice' : 'number',
  default: usual,
  low: null,
  high: null,
  choices,
  required: false,
  percent: false,
  help: '',
  hint: '',
  source: '',
})
const atlas: Analysis = {
  title: 'Atlas',
  room: 'atlas',
  inputs: [{ name: 'text', kind: 'text', label: 'Text', required: true, help: '', default: null }],
  settings: [
    setting('model', 'Model', 'default'),
    setting('restarts', 'Restarts', 8),
    setting('special', 'Special tokens', 'drop', [
      { value: 'drop', label: 'left out' },
      { value: 'keep', label: 'kept' },
    ]),
  ],
  views: [],
}
const about = { models: [{ name: 'default', short: 'MiniLM-L6' }], analyses: { atlas } } as unknown as About
const job = (settings: Record<string, unknown>) =>
  ({
    analysis: 'atlas',
    title: 'Heads of MiniLM-L6 over harbour',
    settings,
    inputs: { text: { id: 'in-1', name: 'harbour' } },
  }) as unknown as Job

it('says settings as people do', () => {
  const said = settingsInWords(about, job({ model: 'default', special: 'drop', restarts: null }), ['model', 'restarts', 'special'])
  expect(said.map(({ label, value }) => `${label}: ${value}`)).toEqual(['Model: MiniLM-L6', 'Special tokens: left out'])
})

it('tells the same facts of every job, and of its settings those that are not usual', () => {
  const usual = { reads: 'harbour', model: 'MiniLM-L6', settings: '', help: '' }
  expect(jobFacts(about, job({ model: 'default', restarts: 8, special: 'drop' }))).toEqual(usual)
  const other = jobFacts(about, job({ model: 'default', restarts: 3, special: 'keep' }))
  expect(other).toEqual({ ...usual, settings: 'restarts: 3 · special tokens: kept', help: 'Restarts: 3.\nSpecial tokens: kept.' })
  const prompted = { ...job({ model: 'default', restarts: 8, special: 'drop', prompt: 'The capital' }), inputs: {} }
  expect(jobFacts(about, prompted)).toEqual({ ...usual, reads: '“The capital”' })
  const generate = { ...atlas, settings: [...atlas.settings, setting('prompt', 'Prompt', null)] }
  const left = { ...job({ model: 'default', restarts: 8, special: 'drop', prompt: null }), analysis: 'generate', inputs: {} }
  expect(jobFacts({ ...about, analyses: { generate } }, left).reads).toBe('a text of its own')
})

it('names a folder by its last part and a Hub id in full', () => {
  expect([modelName(about, 'default'), modelName(about, '/data/mine/'), modelName(about, 'someone/model')]).toEqual([
    'MiniLM-L6',
    'mine',
    'someone/model',
  ])
})
