import { untrack } from 'svelte'

import type { Item } from '../lib/link.svelte'
import type { Memory } from '../lib/shared'

/** Said in every room: the chosen items, the model, text and head that rooms read, and the head pinned beside it. */
const EVERYWHERE = new Set(['sel', 'model', 'text', 'layer', 'head', 'pinned'])

/** Where a page that is opened without an address finds what was carried last. */
const KEPT = 'langscape-context'

/** More items than this would make an address that mail programs break; they are kept as rows of a picture. */
const MOST = 100

export type Values = Record<string, string>

/**
 * The address after its `#`: the room and everything set in it, "#head?job=…&layer=3&head=5&sel=7:cat". Rooms keep
 * what was set in them while the page is open; the address always says the room that is shown.
 */
export class Address {
  room = $state('')
  /** Grows when the reader went back or typed an address: what was read from it once is then read anew. */
  visit = $state(0)
  #rooms = $state.raw<Record<string, Values>>({})
  #everywhere = $state.raw<Values>({})
  /** What views set of themselves. They read it once, and nothing is to be computed anew while a map is dragged. */
  #views: Record<string, Values> = {}
  /** What stood there when the address was opened. */
  #opened: Values = {}
  #pending = 0
  /** The browser's address as this page last wrote or read it. */
  #known = ''
  readonly #first: string
  readonly #storage: Pick<Storage, 'getItem' | 'setItem'>

  constructor(first: string, storage: Pick<Storage, 'getItem' | 'setItem'> = localStorage) {
    this.#first = first
    this.#storage = storage
    this.#read()
    if (!location.hash) this.#everywhere = this.#kept()
    addEventListener('hashchange', () => {
      this.#known = location.hash
      if (location.hash.slice(1) === this.text) return
      this.#flush(false)
      this.#read()
      this.visit++
    })
    addEventListener('pagehide', () => this.#flush())
  }

  /** What stands after the `#`. */
  get text(): string {
    return written(this.room, { ...this.#rooms[this.room], ...this.#views[this.room], ...this.#everywhere })
  }

  /** The whole address of what is shown now, to be opened elsewhere. */
  link(): string {
    return `${location.origin}${location.pathname}#${this.text}`
  }

  get(name: string, room = this.room): string | null {
    return (EVERYWHERE.has(name) ? this.#everywhere : isOfView(name) ? this.#views[room] : this.#rooms[room])?.[name] ?? null
  }

  number(name: string): number | null {
    const value = this.get(name)
    return value !== null && /^\d+$/.test(value) ? Number(value) : null
  }

  /** Whether the address was opened with this, rather than set so by what the reader did in the room since. */
  isOpened(name: string, value: string): boolean {
    return this.#opened[name] === value
  }

  /** Set values of this room, or everywhere; with `go`, the browser's Back leads to what was before. */
  set(values: Record<string, string | number | null>, go = false): void {
    if (go) this.#flush()
    for (const [name, value] of Object.entries(values)) this.#put(name, value === null ? null : String(value), this.room)
    if (go) this.#write('pushState')
    else this.#soon()
  }

  enter(room: string, values: Record<string, string | number | null> = {}): void {
    if (room === this.room) return this.set(values, true)
    this.#flush()
    this.room = room
    this.set(values)
    this.#write('pushState')
  }

  /** What a view sets of itself, under its own name. Reading it here makes nothing depend on it. */
  memory(view: string): Memory {
    const room = untrack(() => this.room)
    return {
      get: (name) => this.#views[room]?.[`${view}.${name}`] ?? null,
      set: (name, value) =>
        untrack(() => {
          if (this.#put(`${view}.${name}`, value, room) && room === this.room) this.#soon()
        }),
    }
  }

  /** All that a view set of itself. */
  valuesOf(view: string): Values {
    const own = Object.entries(this.#views[this.room] ?? {}).filter(([name]) => name.startsWith(`${view}.`))
    return Object.fromEntries(own.map(([name, value]) => [name.slice(view.length + 1), value]))
  }

  #put(name: string, value: string | null, room: string): boolean {
    const values = (EVERYWHERE.has(name) ? this.#everywhere : isOfView(name) ? this.#views[room] : this.#rooms[room]) ?? {}
    if ((values[name] ?? null) === value) return false
    const { [name]: _, ...rest } = values
    const after = value === null ? rest : { ...rest, [name]: value }
    if (EVERYWHERE.has(name)) this.#keep((this.#everywhere = after))
    else if (isOfView(name)) this.#views[room] = after
    else this.#rooms = { ...this.#rooms, [room]: after }
    return true
  }

  #keep(values: Values): void {
    try {
      this.#storage.setItem(KEPT, JSON.stringify(values))
    } catch {
      // A browser that keeps nothing opens on the example next time.
    }
  }

  #kept(): Values {
    try {
      const kept: unknown = JSON.parse(this.#storage.getItem(KEPT) ?? '{}')
      const values = typeof kept === 'object' && kept !== null ? Object.entries(kept) : []
      return Object.fromEntries(values.filter(([name, value]) => EVERYWHERE.has(name) && typeof value === 'string'))
    } catch {
      return {}
    }
  }

  // Browsers refuse an address that changes with every frame of a drag.
  #soon(): void {
    if (this.#pending) return
    this.#pending = setTimeout(() => this.#flush(), 200) as unknown as number
  }

  #flush(write = true): void {
    if (!this.#pending) return
    clearTimeout(this.#pending)
    this.#pending = 0
    // An address typed a moment ago, of which the browser has yet to tell, is not overwritten.
    if (write && location.hash === this.#known && location.hash.slice(1) !== this.text) this.#write('replaceState')
  }

  #write(how: 'pushState' | 'replaceState'): void {
    history[how](null, '', `#${this.text}`)
    this.#known = location.hash
  }

  #read(): void {
    this.#known = location.hash
    const { room, values } = parsed(location.hash.slice(1))
    this.room = room || this.#first
    this.#opened = values
    const those = (wanted: (name: string) => boolean) => Object.fromEntries(Object.entries(values).filter(([name]) => wanted(name)))
    this.#rooms = { ...this.#rooms, [this.room]: those((name) => !EVERYWHERE.has(name) && !isOfView(name)) }
    this.#views[this.room] = those(isOfView)
    this.#everywhere = those((name) => EVERYWHERE.has(name))
  }
}

/** Names such as "map.colour" belong to a view; "map.with.mass" is what the room asks the server for. */
function isOfView(name: string): boolean {
  return name.includes('.') && !name.includes('.with.')
}

export function parsed(text: string): { room: string; values: Values } {
  const [room, query = ''] = text.split(/\?(.*)/s)
  return { room, values: Object.fromEntries(new URLSearchParams(query)) }
}

export function written(room: string, values: Values): string {
  // Commas, colons and slashes may stand in a fragment as they are, and are easier to read so.
  const query = new URLSearchParams(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1))).toString()
  return query ? `${room}?${query.replace(/%(2C|3A|2F)/g, decodeURIComponent)}` : room
}

/** The chosen items as text: "7:cat,9:dog/2-4" for the second dog of four, ":tea" for a word without a place; the focused one has a star. */
export function keptItems(items: readonly Item[], focus: number | null): string | null {
  if (!items.length || items.length > MOST) return null
  const one = ({ label, position, nth }: Item) => `${position ?? ''}:${encodeURIComponent(label)}${nth ? `/${nth[0]}-${nth[1]}` : ''}`
  return items.map((item, at) => `${at === focus ? '*' : ''}${one(item)}`).join(',')
}

export function itemsOf(text: string | null): { items: Item[]; focus: number | null } {
  const items: Item[] = []
  let focus: number | null = null
  for (const part of text ? text.split(',') : []) {
    const found = /^(\*?)(\d*):(.+?)(?:\/(\d+)-(\d+))?$/s.exec(part)
    if (!found) continue
    if (found[1]) focus = items.length
    const nth = found[4] ? { nth: [Number(found[4]), Number(found[5])] as const } : {}
    items.push({ label: decoded(found[3]), position: found[2] ? Number(found[2]) : null, ...nth })
  }
  return { items, focus }
}

/**
 * Many rows of a picture as text: "@words/map~3-40.52" with runs of rows, or "@words/map!…" with a bit for each row,
 * six to a letter, whichever is shorter.
 */
export function keptRows(place: string, rows: readonly number[]): string {
  const sorted = [...new Set(rows)].sort((a, b) => a - b)
  const runs: string[] = []
  for (let at = 0; at < sorted.length;) {
    let end = at
    while (sorted[end + 1] === sorted[end] + 1) end++
    runs.push(end > at ? `${sorted[at]}-${sorted[end]}` : String(sorted[at]))
    at = end + 1
  }
  const letters = new Uint8Array(Math.ceil(((sorted.at(-1) ?? -1) + 1) / 6))
  for (const row of sorted) letters[Math.floor(row / 6)] |= 1 << (row % 6)
  const listed = runs.join('.')
  return listed.length <= letters.length ? `@${place}~${listed}` : `@${place}!${Array.from(letters, (bits) => LETTERS[bits]).join('')}`
}

/** The rows that `keptRows` wrote, and of which picture; null for any other text. */
export function rowsOf(text: string | null): { place: string; rows: number[] } | null {
  const found = /^@([^~!]+)([~!])(.*)$/s.exec(text ?? '')
  if (!found) return null
  const [, place, how, coded] = found
  const rows: number[] = []
  if (how === '!') {
    Array.from(coded).forEach((letter, at) => {
      const bits = LETTERS.indexOf(letter)
      for (let bit = 0; bit < 6; bit++) if (bits >= 0 && bits & (1 << bit)) rows.push(6 * at + bit)
    })
  } else {
    for (const run of coded.split('.')) {
      const [first, last = first] = run.split('-').map(Number)
      if (!Number.isInteger(first) || !Number.isInteger(last) || last - first > MOST_ROWS) continue
      for (let row = first; row <= last; row++) rows.push(row)
    }
  }
  return { place, rows }
}

/** Letters that may stand in an address as they are. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A picture of more points than this is not shown. */
const MOST_ROWS = 10_000_000

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
