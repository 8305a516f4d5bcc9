import { formatNumber } from '../lib/format'
import type { About, Job } from './api'
import { analysisIn } from './rooms'

/** A setting of a job as readers say it: "Special tokens", "left out". */
export interface Said {
  name: string
  label: string
  value: string
}

/** The settings of a job of these names, in their order, in words; those without a value are left out. */
export function settingsInWords(about: About, job: Job, names: string[]): Said[] {
  const known = about.analyses[job.analysis]?.settings ?? []
  return names.flatMap((name) => {
    const value = job.settings[name]
    if (value === null || value === undefined || value === '') return []
    const setting = known.find((one) => one.name === name)
    const chosen = setting?.choices?.find((one) => one.value === value)?.label
    const label = setting?.label ?? name.replaceAll('_', ' ')
    return [
      {
        name,
        label,
        value: chosen ?? (isModel(name) ? modelName(about, String(value)) : isLayer(name) && value === -1 ? 'the last' : inWords(value)),
      },
    ]
  })
}

/** What is told of every job, each at its own place: what it read, by which model, and every setting that is not the usual one. */
export interface JobFacts {
  reads: string
  model: string
  settings: string
  /** Each of these settings with what it does, a line each. */
  help: string
}

export function jobFacts(about: About, job: Job): JobFacts {
  const { settings = [], inputs = [] } = about.analyses[job.analysis] ?? {}
  const unused = analysisIn(job.analysis)?.hides?.(job.settings) ?? []
  const isUsed = ({ name }: { name: string }) => !unused.includes(name)
  const given = inputs.filter(isUsed).flatMap(({ name }) => (job.inputs[name] ? [job.inputs[name].name] : []))
  const { prompt } = job.settings
  const isPrompted = settings.some(({ name }) => name === 'prompt')
  const reads = given.length ? given : typeof prompt === 'string' && prompt ? [`“${prompt}”`] : isPrompted ? ['a text of its own'] : []
  const models = settings.filter((one) => isModel(one.name) && isUsed(one)).map(({ name }) => name)
  const isTitled = /layer \d+, head \d+|\b\d+\.\d+\b/i.test(job.title)
  const isSaid = (name: string) => isTitled && (name === 'layer' || name === 'head')
  const other = settings
    .filter((one) => !isModel(one.name) && one.name !== 'prompt' && isUsed(one) && !isSaid(one.name))
    .filter(({ name, default: usual }) => JSON.stringify(job.settings[name] ?? null) !== JSON.stringify(usual))
    .map(({ name }) => name)
  const said = settingsInWords(about, job, other)
  const helpOf = (name: string) => settings.find((one) => one.name === name)?.help ?? ''
  return {
    reads: reads.join(' and '),
    model: [...new Set(settingsInWords(about, job, models).map(({ value }) => value))].join(' and '),
    settings: said.map(({ label, value }) => `${label.toLowerCase()}: ${value}`).join(' · '),
    help: said.map(({ name, label, value }) => `${label}: ${value}. ${helpOf(name)}`.trim()).join('\n'),
  }
}

/** What readers call a model: MiniLM-L6 rather than "default", and of a folder its last part. */
export function modelName(about: About, name: string): string {
  return (
    about.models.find((one) => one.name === name)?.short ?? (/^[./~]/.test(name) ? (name.split('/').filter(Boolean).at(-1) ?? name) : name)
  )
}

function isLayer(name: string): boolean {
  return name === 'layer' || name.endsWith('_layer')
}

function isModel(name: string): boolean {
  return name === 'model' || name.endsWith('_model')
}

function inWords(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : formatNumber(value)
  return Array.isArray(value) ? value.join(', ') : String(value)
}
