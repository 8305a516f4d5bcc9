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

interface Told {
  kind: string
  properties: Record<string, unknown>
  /** Where each array stands in the bytes. */
  arrays: Record<string, { dtype: string; shape: number[]; from: number; to: number }>
}

/** One view in a notebook cell. It draws in a shadow root, so that neither sheet touches the other. */
function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = el.attachShadow({ mode: 'open' })
  const style = document.createElement('style')
  style.textContent = sheet.replaceAll(':root[data-theme=dark]', ':host([data-theme=dark])').replaceAll(":root[data-theme='dark']", ":host([data-theme='dark'])").replaceAll(':root', ':host').replace(/\bbody\s*\{/, '.cell{')
  const cell = document.createElement('div')
  cell.className = 'cell'
  root.append(style, cell)
  el.style.display = 'block'
  const forget = theme.drawnIn(el)
  const link = new Link()
  let shown: ReturnType<typeof mount> | null = null

  const show = () => {
    if (shown) void unmount(shown)
    cell.style.height = `${model.get('height')}px`
    const view = read(model.get('told') as Told, model.get('data') as DataView)
    shown = mount(Widget, {
      target: cell,
      props: { view, kind: VIEWS[view.kind], link, onselect: (rows: number[], labels: string[]) => {
        model.set('rows', rows)
        model.set('labels', labels)
        model.save_changes()
      } },
    })
  }
  show()
  model.on('change:told', show)
  return () => {
    model.off('change:told', show)
    forget()
    if (shown) void unmount(shown)
  }
}

function read({ kind, properties, arrays }: Told, data: DataView): View {
  const later = new Set((properties['later'] as string[] | undefined) ?? [])
  const named = Object.entries(arrays).map(([name, { dtype, shape, from, to }]) => {
    // Bytes arrive anywhere in a larger buffer; numbers need a start of their own.
    const start = data.byteOffset + from
    return [name, () => typedArray(name, dtype, shape, data.buffer.slice(start, start + to - from) as ArrayBuffer)] as const
  })
  return {
    kind,
    properties,
    arrays: Object.fromEntries(named.filter(([name]) => !later.has(name)).map(([name, make]) => [name, make()])),
    later: Object.fromEntries(named.filter(([name]) => later.has(name)).map(([name, make]) => [name, () => Promise.resolve(make())])),
  }
}

export default { render }
