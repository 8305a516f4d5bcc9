import sheet from './app.css?inline'

import { mount, unmount } from 'svelte'

import { Link } from './lib/link.svelte'
import { theme } from './lib/theme.svelte'
import { typedArray, type View } from './lib/view'
import { VIEWS } from './registry'
import Widget from './Widget.svelte'

/** What anywidget gives: traits that Python and the page share. */
interface Model {
  get(name: string): unknown
  set(name: string, value: unknown): void
  save_changes(): void
  on(event: string, heard: () => void): void
  off(event: string, heard: () => void): void
}

/** Where an array stands in the bytes. */
interface Laid {
  dtype: string
  shape: number[]
  at: number
  bytes: number
}

/** A view as Python sends it. */
interface Packed {
  kind: string
  properties: Record<string, unknown>
  arrays: Record<string, Laid>
}

/** Views in a notebook cell. They are drawn in a shadow root, so that neither sheet touches the other. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = el.attachShadow({ mode: 'open' })
  const style = document.createElement('style')
  style.textContent = sheet
    .replaceAll(':root[data-theme=dark]', ':host([data-theme=dark])')
    .replaceAll(":root[data-theme='dark']", ":host([data-theme='dark'])")
    .replaceAll(':root', ':host')
    .replace(/\bbody\s*\{/, '.cell{')
  const cell = document.createElement('div')
  cell.className = 'cell'
  root.append(style, cell)
  el.style.display = 'block'
  theme.follow(el)
  const link = new Link()
  let shown: ReturnType<typeof mount> | null = null

  const chosen = () => ({ picture: model.get('picture') as number, rows: model.get('rows') as number[] })
  const show = () => {
    if (shown) void unmount(shown)
    cell.style.height = `${model.get('height') as number}px`
    shown = mount(Widget, {
      target: cell,
      props: {
        host: el,
        views: read(model),
        kinds: VIEWS,
        link,
        first: chosen(),
        heard: (tell: (picture: number, rows: number[]) => void) => {
          const changed = () => tell(chosen().picture, chosen().rows)
          const events = ['change:rows', 'change:picture']
          for (const event of events) model.on(event, changed)
          return () => events.forEach((event) => model.off(event, changed))
        },
        onchoose: (picture: number, rows: number[]) => {
          model.set('picture', picture)
          model.set('rows', rows)
          model.save_changes()
        },
      },
    })
  }
  show()
  model.on('change:data', show)
  return () => {
    model.off('change:data', show)
    if (shown) void unmount(shown)
  }
}

function read(model: Model): View[] {
  const data = model.get('data') as DataView
  const pictures = JSON.parse(model.get('pictures') as string) as Packed[]
  return pictures.map(({ kind, properties, arrays }) => {
    const later = new Set((properties['later'] as string[] | undefined) ?? [])
    const named = Object.entries(arrays).map(([name, { dtype, shape, at, bytes }]) => {
      // Bytes arrive anywhere in a larger buffer; numbers need a start of their own.
      const start = data.byteOffset + at
      return [name, () => typedArray(name, dtype, shape, data.buffer.slice(start, start + bytes) as ArrayBuffer)] as const
    })
    return {
      kind,
      properties,
      arrays: Object.fromEntries(named.filter(([name]) => !later.has(name)).map(([name, make]) => [name, make()])),
      later: Object.fromEntries(named.filter(([name]) => later.has(name)).map(([name, make]) => [name, () => Promise.resolve(make())])),
    }
  })
}

export default { render }
