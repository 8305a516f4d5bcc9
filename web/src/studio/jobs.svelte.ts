import { formatCount } from '../lib/format'
import { ApiError, type Api, type Job } from './api'
import { messages } from './stream'

/** Milliseconds before the line is taken up again, and in which the server says at least that it is there. */
const AGAIN = 1000
const SILENCE = 30_000

export const LIVE = new Set(['queued', 'running'])

/** Problems that come again as long as nothing is changed: what was asked for cannot be, or a model is not here. */
const REPEATS = new Set(['bad_input', 'bad_request', 'too_large', 'missing'])

/** Whether the same job would fail the same way, so that only changed settings help. */
export function wouldRepeat({ error }: Pick<Job, 'error'>): boolean {
  return error !== null && error !== undefined && REPEATS.has(error.code)
}

/** Whether a job was done by an earlier version of langscape: it did not fail, and its result is not shown any more. */
export function isOutdated({ error }: Pick<Job, 'error'>): boolean {
  return error?.code === 'gone'
}

/** Whether a job asks what one of the examples asks, also one that an earlier version of the studio computed. */
export function isExample(job: Job, examples: Job[]): boolean {
  return examples.some((one) => one.analysis === job.analysis && asked(one) === asked(job))
}

function asked({ settings, inputs }: Job): string {
  const given = Object.entries(inputs).map(([name, { id }]) => [name, id])
  return JSON.stringify([Object.entries(settings).sort(), given.sort()])
}

/** Every job the server told of, by its id; told anew by server-sent events as they change. */
export class Jobs {
  all = $state.raw<ReadonlyMap<string, Job>>(new Map())
  connected = $state(false)
  /** How often the line was there: each time after the first, the server may be another one over the same store. */
  connections = $state(0)
  /** Of jobs that were deleted, when they had last changed: an older list must not bring them back. */
  readonly #deleted = new Map<string, number>()
  readonly #waiting = new Map<string, ((job: Job) => void)[]>()

  get(id: string | null): Job | null {
    return (id && this.all.get(id)) || null
  }

  /** The newest first. */
  readonly listed = $derived([...this.all.values()].sort((a, b) => b.made - a.made || (a.id < b.id ? 1 : -1)))
  readonly live = $derived(this.listed.filter(({ state }) => LIVE.has(state)))

  /** Takes in what was told. The answer to a request may come after the news of its end: the later word counts. */
  take(...jobs: Job[]): void {
    const after = new Map(this.all)
    for (const job of jobs) {
      const known = after.get(job.id)
      const changed = job.changed ?? Infinity
      const gone = this.#deleted.get(job.id) ?? -1
      if (job.state === 'deleted') {
        this.#deleted.set(job.id, Math.max(gone, job.changed ?? known?.changed ?? 0))
        after.delete(job.id)
      } else if (changed < (known?.changed ?? 0) || changed <= gone) continue
      else after.set(job.id, { ...known, ...job })
      if (!LIVE.has(job.state)) {
        for (const tell of this.#waiting.get(job.id) ?? []) tell(job)
        this.#waiting.delete(job.id)
      }
    }
    this.all = after
  }

  /** The job when it has ended, in whatever way. */
  ended(id: string): Promise<Job> {
    const job = this.all.get(id)
    if (job && !LIVE.has(job.state)) return Promise.resolve(job)
    return new Promise((resolve) => this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), resolve]))
  }

  /** Listens until closed, and again whenever the line breaks; who is refused is told once, and not again. */
  listen(api: Pick<Api, 'events'>, refused: (error: ApiError) => void = () => {}): () => void {
    const closed = new AbortController()
    void this.#keepListening(api, closed.signal, refused)
    return () => closed.abort()
  }

  async #keepListening(api: Pick<Api, 'events'>, closed: AbortSignal, refused: (error: ApiError) => void): Promise<void> {
    let isRefused = false
    while (!closed.aborted) {
      try {
        await this.#listenOnce(api, closed)
      } catch (error) {
        if (error instanceof ApiError && error.problem.code === 'no_session' && !isRefused) {
          isRefused = true
          refused(error)
        }
      }
      this.connected = false
      await new Promise((resolve) => setTimeout(resolve, AGAIN))
    }
  }

  async #listenOnce(api: Pick<Api, 'events'>, closed: AbortSignal): Promise<void> {
    const silent = new AbortController()
    let waiting = setTimeout(() => silent.abort(), SILENCE)
    try {
      for await (const message of messages(await api.events(AbortSignal.any([closed, silent.signal])))) {
        clearTimeout(waiting)
        waiting = setTimeout(() => silent.abort(), SILENCE)
        if (!this.connected) this.connections++
        this.connected = true
        if (message) this.take(JSON.parse(message) as Job)
      }
    } finally {
      clearTimeout(waiting)
    }
  }
}

/** How far a job is, from 0 to 1; null where it cannot be said. */
export function share({ done, total }: Pick<Job, 'done' | 'total'>): number | null {
  return total > 0 ? Math.min(Math.max(done / total, 0), 1) : null
}

/** How far a job is, in what a reader counts ("12 of 72"), or else as a share ("40 %"). */
export function howFar(job: Pick<Job, 'done' | 'total' | 'counts'>): string {
  if (job.total <= 1) return ''
  return job.counts ? `${formatCount(job.done)} of ${formatCount(job.total)}` : `${Math.floor(100 * (share(job) ?? 0))} %`
}

/** A time that is only estimated: whole seconds, and never none. */
export function roughly(seconds: number): string {
  return seconds < 9.5 ? `${Math.max(1, Math.round(seconds))} s` : duration(seconds < 60 ? seconds : 10 * Math.round(seconds / 10))
}

/** A time as people say it: "0.4 s", "12 s", "3 min 20 s", "1 h 5 min". */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return [`${Math.floor(whole / 60)} min`, whole % 60 ? `${whole % 60} s` : ''].filter(Boolean).join(' ')
  const minutes = Math.round(whole / 60)
  return [`${Math.floor(minutes / 60)} h`, minutes % 60 ? `${minutes % 60} min` : ''].filter(Boolean).join(' ')
}
