import { wheelZoom } from '../../lib/wheel'
import type { Stage } from './stage'

export interface Gestures {
  hover(row: number | null): void
  /** A click on a point; `more` when Shift was held. */
  pick(row: number, more: boolean): void
  lasso(rows: number[]): void
  /** Escape, or a click where nothing is. */
  clear(): void
}

const CLICK = 4
const STEP = 48
const ZOOM = 2

/** Mouse, touch and keys on the stage. Gives back what takes the listeners off again. */
export function gestures(element: HTMLElement, stage: Stage, does: Gestures): () => void {
  const fingers = new Map<number, { x: number; y: number }>()
  let mode: 'none' | 'drag' | 'lasso' | 'pinch' = 'none'
  let moved = 0

  const place = (event: MouseEvent) => {
    const box = element.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }

  function down(event: PointerEvent) {
    if (event.button > 2 || event.target !== element) return
    const at = place(event)
    element.setPointerCapture(event.pointerId)
    fingers.set(event.pointerId, at)
    moved = 0
    mode = fingers.size > 1 ? 'pinch' : event.shiftKey ? 'lasso' : 'drag'
    if (mode === 'lasso') stage.lassoTo(at.x, at.y)
  }

  function move(event: PointerEvent) {
    const at = place(event)
    const before = fingers.get(event.pointerId)
    if (!before) {
      const row = stage.pick(at.x, at.y)
      does.hover(row < 0 ? null : row)
      return
    }
    const [dx, dy] = [at.x - before.x, at.y - before.y]
    moved += Math.hypot(dx, dy)
    if (mode === 'pinch') pinch(event.pointerId, at)
    fingers.set(event.pointerId, at)
    if (mode === 'lasso') stage.lassoTo(at.x, at.y)
    if (mode !== 'drag' || moved < CLICK) return
    does.hover(null)
    // A 3-D map turns under the left button and pans under the others.
    if (stage.turns && !(event.buttons & 6) && !event.altKey) stage.turnBy(dx, dy)
    else stage.panBy(dx, dy)
  }

  function pinch(id: number, at: { x: number; y: number }) {
    const other = [...fingers].find(([finger]) => finger !== id)?.[1]
    const before = fingers.get(id)
    if (!other || !before) return
    const [was, is] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(at.x - other.x, at.y - other.y)]
    stage.panBy((at.x - before.x) / 2, (at.y - before.y) / 2)
    if (was > 0) stage.zoomBy(is / was, (at.x + other.x) / 2, (at.y + other.y) / 2)
  }

  function up(event: PointerEvent) {
    if (!fingers.delete(event.pointerId)) return
    const at = place(event)
    if (mode === 'lasso') {
      const rows = stage.lassoEnd()
      if (moved >= CLICK) does.lasso(rows)
    }
    if ((mode === 'drag' || mode === 'lasso') && moved < CLICK && event.type === 'pointerup' && event.button === 0) {
      const row = stage.pick(at.x, at.y)
      if (row >= 0) does.pick(row, event.shiftKey)
      else if (!event.shiftKey) does.clear()
    }
    mode = fingers.size ? 'drag' : 'none'
  }

  function key(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const move = stage.turns && !event.shiftKey ? (x: number, y: number) => stage.turnBy(x, y) : (x: number, y: number) => stage.panBy(x, y)
    const actions: Record<string, () => void> = {
      ArrowLeft: () => move(STEP, 0),
      ArrowRight: () => move(-STEP, 0),
      ArrowUp: () => move(0, STEP),
      ArrowDown: () => move(0, -STEP),
      '+': () => stage.zoomBy(1.4),
      '=': () => stage.zoomBy(1.4),
      '-': () => stage.zoomBy(1 / 1.4),
      '0': () => stage.reset(),
      Escape: () => does.clear(),
    }
    const action = actions[event.key]
    if (!action) return
    event.preventDefault()
    action()
  }

  function twice(event: MouseEvent) {
    if (event.target !== element) return
    const { x, y } = place(event)
    stage.zoomBy(event.shiftKey ? 1 / ZOOM : ZOOM, x, y)
  }

  const leave = () => does.hover(null)
  const menu = (event: Event) => stage.turns && event.preventDefault()
  const listeners: [string, (event: never) => void][] = [
    ['pointerdown', down],
    ['pointermove', move],
    ['pointerup', up],
    ['pointercancel', up],
    ['pointerleave', leave],
    ['dblclick', twice],
    ['keydown', key],
    ['contextmenu', menu],
  ]
  for (const [name, listener] of listeners) element.addEventListener(name, listener as EventListener)
  const still = wheelZoom(element, (factor, x, y) => stage.zoomBy(factor, x, y))
  return () => {
    for (const [name, listener] of listeners) element.removeEventListener(name, listener as EventListener)
    still()
  }
}
