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

/** What a job was asked for beyond its name: its inputs, its model and every setting that is not the usual one. */
export function differences(about: About, job: Job): string {
  const { settings = [], inputs = [] } = about.analyses[job.analysis] ?? {}
  const other = settings
    .filter(({ name, default: usual }) => !isModel(name) && JSON.stringify(job.settings[name] ?? null) !== JSON.stringify(usual))
    .map(({ name }) => name)
  const unused = analysisIn(job.analysis)?.hides?.(job.settings) ?? []
  const given = inputs.flatMap(({ name }) =>
    job.inputs[name] && !unused.includes(name) && !job.title.includes(job.inputs[name].name) ? [job.inputs[name].name] : [],
  )
  return [...given, ...settingsInWords(about, job, other).map(({ label, value }) => `${label.toLowerCase()} ${value}`)].join(' · ')
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
