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

/** One view in a notebook cell. It draws in a shadow root, so that neither sheet touches the other. */
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
  const forget = theme.drawnIn(el)
  const link = new Link()
  let shown: ReturnType<typeof mount> | null = null

  const show = () => {
    if (shown) void unmount(shown)
    cell.style.height = `${model.get('height') as number}px`
    const view = read(model)
    shown = mount(Widget, {
      target: cell,
      props: {
        view,
        kind: VIEWS[view.kind],
        link,
        first: model.get('selection') as number[],
        heard: (tell: (rows: number[]) => void) => {
          const changed = () => tell(model.get('selection') as number[])
          model.on('change:selection', changed)
          return () => model.off('change:selection', changed)
        },
        onselect: (rows: number[]) => {
          model.set('selection', rows)
          model.save_changes()
        },
      },
    })
  }
  show()
  model.on('change:data', show)
  return () => {
    model.off('change:data', show)
    forget()
    if (shown) void unmount(shown)
  }
}

function read(model: Model): View {
  const properties = JSON.parse(model.get('properties') as string) as Record<string, unknown>
  const layout = JSON.parse(model.get('layout_of_arrays') as string) as Record<string, Laid>
  const data = model.get('data') as DataView
  const later = new Set((properties['later'] as string[] | undefined) ?? [])
  const named = Object.entries(layout).map(([name, { dtype, shape, at, bytes }]) => {
    // Bytes arrive anywhere in a larger buffer; numbers need a start of their own.
    const start = data.byteOffset + at
    return [name, () => typedArray(name, dtype, shape, data.buffer.slice(start, start + bytes) as ArrayBuffer)] as const
  })
  return {
    kind: model.get('kind') as string,
    properties,
    arrays: Object.fromEntries(named.filter(([name]) => !later.has(name)).map(([name, make]) => [name, make()])),
    later: Object.fromEntries(named.filter(([name]) => later.has(name)).map(([name, make]) => [name, () => Promise.resolve(make())])),
  }
}

export default { render }
