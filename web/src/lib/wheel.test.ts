import { afterEach, describe, expect, it, vi } from 'vitest'

import { wheelZoom, zoomFactor } from './wheel'

function turned(element: HTMLElement, init: WheelEventInit = {}): WheelEvent {
  const event = new WheelEvent('wheel', { deltaY: -100, cancelable: true, bubbles: true, ...init })
  element.dispatchEvent(event)
  return event
}

function within(): HTMLElement {
  const host = document.createElement('div')
  document.body.append(host)
  const element = document.createElement('div')
  host.attachShadow({ mode: 'open' }).append(element)
  return element
}

describe('wheelZoom', () => {
  afterEach(() => document.body.replaceChildren())

  it('zooms at once on a page of its own', () => {
    const element = document.createElement('div')
    document.body.append(element)
    const zoom = vi.fn()
    wheelZoom(element, zoom)
    expect(turned(element).defaultPrevented).toBe(true)
    expect(zoom).toHaveBeenCalledOnce()
  })

  it('lets a notebook scroll, and says how to zoom', () => {
    const element = within()
    const zoom = vi.fn()
    const end = wheelZoom(element, zoom)
    expect(turned(element).defaultPrevented).toBe(false)
    expect(zoom).not.toHaveBeenCalled()
    expect(element.querySelector('.wheel-hint')?.textContent).toBe('Ctrl + wheel zooms; after a click, the wheel alone')
    end()
    expect(element.querySelector('.wheel-hint')).toBe(null)
  })

  it.each([{ ctrlKey: true }, { metaKey: true }])('zooms in a notebook with %o', (held) => {
    const element = within()
    const zoom = vi.fn()
    wheelZoom(element, zoom)
    expect(turned(element, held).defaultPrevented).toBe(true)
    expect(zoom).toHaveBeenCalledOnce()
  })

  it('zooms in a notebook after a click, until the pointer leaves', () => {
    const element = within()
    const zoom = vi.fn()
    wheelZoom(element, zoom)
    element.dispatchEvent(new Event('pointerdown'))
    expect(turned(element).defaultPrevented).toBe(true)
    element.dispatchEvent(new Event('pointerleave'))
    expect(turned(element).defaultPrevented).toBe(false)
    expect(zoom).toHaveBeenCalledOnce()
  })

  it('tells a pinch from a wheel', () => {
    const pinch = zoomFactor({ deltaY: -10, deltaMode: 0, ctrlKey: true })
    expect(pinch).toBeCloseTo(2 ** 0.1)
    const wheel = { deltaY: -120, deltaMode: 0 }
    expect(zoomFactor({ ...wheel, ctrlKey: true })).toBe(zoomFactor({ ...wheel, ctrlKey: false }))
    expect(zoomFactor({ deltaY: 3, deltaMode: 1, ctrlKey: false })).toBeCloseTo(2 ** -0.144)
  })
})
