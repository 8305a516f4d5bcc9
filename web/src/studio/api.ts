import { typedArray, type NamedArray, type View } from '../lib/view'
import type { components } from './schema'

type Schemas = components['schemas']

/** What went wrong, in the one shape that the server says it in; the page has codes of its own besides. */
export type Trouble = Omit<Schemas['ErrorDetail'], 'code'> & { code: string }

export class ApiError extends Error {
  readonly problem: Trouble

  constructor(problem: Trouble) {
    super(problem.message)
    this.problem = problem
  }
}

/** A job as it stands; of one that was deleted, the events tell no more than its id and that. */
export type State = Schemas['JobEvent']['state']
export type Job = Omit<Schemas['Job'], 'state'> & { state: State }

export type Setting = Schemas['SettingInfo']
export type Value = Setting['default']
export type Wanted = Schemas['InputInfo']
export type Analysis = Schemas['AnalysisInfo']
export type Input = Schemas['Input']
export type InputKind = Input['kind']
export type Model = Schemas['ModelInfo']
export type About = Schemas['About']
export type Inserted = Schemas['Inserted']
export type ModelState = Schemas['ModelState']
export type TokenCount = Schemas['TokenCount']

/** A view as the server tells it: arrays by the address of their bytes. */
export type ViewDescription = Schemas['View']

export type Parameters = Record<string, string | number | null | undefined>

const CACHED = 60

/** Where the way in (`/enter.js`) leaves the key of this browser's session: storage is apart for each port, cookies are not. */
const KEY = 'langscape-key'

function keyOf(storage: Pick<Storage, 'getItem'>): string {
  return storage.getItem(KEY) ?? ''
}

/** The studio's server. Everything it refuses comes out as an ApiError that says what to do. */
export class Api {
  readonly #views = new Map<string, Promise<View>>()
  readonly #fetch: typeof fetch
  readonly #storage: Pick<Storage, 'getItem'>

  constructor(using: typeof fetch = (...given) => fetch(...given), storage: Pick<Storage, 'getItem'> = localStorage) {
    this.#fetch = using
    this.#storage = storage
  }

  about(): Promise<About> {
    return this.#json('/api/about')
  }

  async inputs(): Promise<Input[]> {
    return (await this.#json<Schemas['InputList']>('/api/inputs')).inputs
  }

  addInput(kind: InputKind, name: string, content: string | Blob): Promise<Input> {
    const query = new URLSearchParams({ kind, name })
    return this.#json(`/api/inputs?${query}`, { method: 'POST', body: typeof content === 'string' ? new Blob([content]) : content })
  }

  async inputText(id: string): Promise<string> {
    return (await this.#json<Schemas['InputText']>(`/api/inputs/${encodeURIComponent(id)}/text`)).text
  }

  /** How a packaged model would cut a text into tokens. */
  countTokens(model: string, text: string, signal?: AbortSignal): Promise<TokenCount> {
    return this.#json('/api/tokens', { ...this.#body({ model, text }), signal })
  }

  modelState(name: string): Promise<ModelState> {
    return this.#json(`/api/models/${encodeURIComponent(name)}`)
  }

  fetchModel(name: string): Promise<ModelState> {
    return this.#json(`/api/models/${encodeURIComponent(name)}/fetch`, { method: 'POST' })
  }

  async jobs(): Promise<Job[]> {
    return (await this.#json<Schemas['JobList']>('/api/jobs')).jobs
  }

  job(id: string): Promise<Job> {
    return this.#json(`/api/jobs/${encodeURIComponent(id)}`)
  }

  run(analysis: string, settings: Record<string, unknown>, inputs: Record<string, string>): Promise<Job> {
    return this.#json('/api/jobs', this.#body({ analysis, settings, inputs }))
  }

  /** Somebody looks at it: where it waits, it comes next. */
  lookAt(id: string): Promise<Job> {
    return this.#json(`/api/jobs/${encodeURIComponent(id)}/look`, { method: 'POST' })
  }

  cancel(id: string): Promise<Job> {
    return this.#json(`/api/jobs/${encodeURIComponent(id)}/cancel`, { method: 'POST' })
  }

  async remove(id: string): Promise<void> {
    await this.#answer(`/api/jobs/${encodeURIComponent(id)}`, { method: 'DELETE' })
  }

  rename(id: string, name: string): Promise<Job> {
    return this.#json(`/api/jobs/${encodeURIComponent(id)}/name`, this.#body({ name }))
  }

  renameInput(id: string, name: string): Promise<Input> {
    return this.#json(`/api/inputs/${encodeURIComponent(id)}/name`, this.#body({ name }))
  }

  async removeInput(id: string): Promise<void> {
    await this.#answer(`/api/inputs/${encodeURIComponent(id)}`, { method: 'DELETE' })
  }

  insert(job: string, words: string[]): Promise<Inserted> {
    return this.#json('/api/insert', this.#body({ job, words }))
  }

  /** Where a vector of one's own lands. */
  insertVector(job: string, name: string, vector: number[]): Promise<Inserted> {
    return this.#json('/api/insert', this.#body({ job, name, vector }))
  }

  /** A view of a finished job, kept: going back to it costs nothing. */
  view(job: string, name: string, parameters: Parameters = {}): Promise<View> {
    const address = viewAddress(job, name, parameters)
    const kept = this.#views.get(address)
    if (kept) {
      this.#views.delete(address)
      this.#views.set(address, kept)
      return kept
    }
    const asked = this.#json<ViewDescription>(address).then((description) => readView(description, (url) => this.#bytes(url)))
    this.#views.set(address, asked)
    asked.catch(() => this.#views.delete(address))
    for (const oldest of this.#views.keys()) {
      if (this.#views.size <= CACHED) break
      this.#views.delete(oldest)
    }
    return asked
  }

  /** A file made of a view. */
  async export(job: string, name: string, parameters: Parameters, format: string): Promise<Blob> {
    const query = queryOf({ view: name, format, ...parameters })
    return (await this.#answer(`/api/jobs/${encodeURIComponent(job)}/export${query}`)).blob()
  }

  /** The events of jobs, until they end or the signal says so. */
  async events(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return (await this.#answer('/api/events', { signal, cache: 'no-store' })).body!
  }

  async #bytes(url: string): Promise<ArrayBuffer> {
    return (await this.#answer(url)).arrayBuffer()
  }

  async #json<T>(path: string, options?: RequestInit): Promise<T> {
    return (await this.#answer(path, options)).json() as Promise<T>
  }

  #body(content: unknown): RequestInit {
    return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }
  }

  async #answer(path: string, options?: RequestInit): Promise<Response> {
    let answer: Response
    try {
      const headers = { ...(options?.headers as Record<string, string> | undefined), [KEY]: keyOf(this.#storage) }
      answer = await this.#fetch(path, { credentials: 'same-origin', ...options, headers })
    } catch {
      throw new ApiError({
        code: 'unreachable',
        message: 'The studio’s server does not answer.',
        hint: 'Look whether `langscape studio` still runs in its terminal, then try again.',
      })
    }
    if (answer.ok) return answer
    throw new ApiError(await troubleOf(answer))
  }
}

/** The problem in a refused answer; an answer that is not in the shape still says its status. */
export async function troubleOf(answer: Response): Promise<Trouble> {
  try {
    const { error } = (await answer.json()) as { error?: Partial<Schemas['ErrorDetail']> }
    if (error?.message) return { code: error.code ?? String(answer.status), message: error.message, hint: error.hint ?? '' }
  } catch {
    // Said below: there is nothing to read.
  }
  return {
    code: String(answer.status),
    message: `The studio’s server answered ${answer.status} ${answer.statusText}`.trim() + '.',
    hint: 'Reload the page; if it comes again, look at the terminal where the studio runs.',
  }
}

export function viewAddress(job: string, name: string, parameters: Parameters): string {
  return `/api/jobs/${encodeURIComponent(job)}/views/${encodeURIComponent(name)}${queryOf(parameters)}`
}

function queryOf(parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return query && `?${query}`
}

/** The view with its arrays fetched; those for later when they are first asked for. */
export async function readView(description: ViewDescription, bytes: (url: string) => Promise<ArrayBuffer>): Promise<View> {
  const wanted = new Set((description.properties['later'] as string[] | undefined) ?? [])
  const fetched = async (name: string): Promise<NamedArray> => {
    const { dtype, shape, url } = description.arrays[name]
    return typedArray(name, dtype, shape, await bytes(url))
  }
  const names = Object.keys(description.arrays)
  const now = names.filter((name) => !wanted.has(name))
  const arrays = await Promise.all(now.map(async (name) => [name, await fetched(name)] as const))
  const later = names.filter((name) => wanted.has(name)).map((name) => [name, once(() => fetched(name))] as const)
  return {
    kind: description.kind,
    properties: description.properties,
    arrays: Object.fromEntries(arrays),
    later: Object.fromEntries(later),
  }
}

/** Asked again, it gives the same promise, unless it failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null
  return () => {
    pending ??= make().catch((error: unknown) => {
      pending = null
      throw error
    })
    return pending
  }
}
