import { flushSync } from 'svelte'
import { beforeEach, describe, expect, it, vi } from 'vitest'

import { Address, itemsOf, keptItems, keptRows, parsed, rowsOf, written } from './address.svelte'

beforeEach(() => {
  history.replaceState(null, '', '#')
  localStorage.clear()
  vi.useFakeTimers()
})

describe('the address', () => {
  it('carries text, model and head to a page that is opened without one, and to no page that has one', () => {
    const address = new Address('atlas')
    address.enter('head', { job: 'atlas-5f', model: 'decoder', text: 'in-1', layer: 3, head: 5 })
    vi.runAllTimers()
    history.replaceState(null, '', location.pathname)
    const second = new Address('atlas')
    expect([second.room, second.get('job'), second.get('text'), second.get('model'), second.number('head')]).toEqual([
      'atlas',
      null,
      'in-1',
      'decoder',
      5,
    ])
    history.replaceState(null, '', '#words')
    expect(new Address('atlas').get('text')).toBeNull()
  })

  it('opens though what was kept is damaged', () => {
    localStorage.setItem('langscape-context', '{"text": 7, "model": "decoder", "other": "x"')
    expect(new Address('atlas').get('model')).toBeNull()
    localStorage.setItem('langscape-context', '{"text": 7, "model": "decoder", "job": "x"}')
    const address = new Address('atlas')
    expect([address.get('text'), address.get('model'), address.get('job')]).toEqual([null, 'decoder', null])
  })

  it('holds the room and everything set in it, and gives it back to another page', () => {
    const address = new Address('atlas')
    address.enter('head', { job: 'atlas-5f', layer: 3, head: 5 })
    address.memory('map').set('colour', 'position & more')
    vi.runAllTimers()
    expect(location.hash).toBe('#head?head=5&job=atlas-5f&layer=3&map.colour=position+%26+more')
    const again = new Address('atlas')
    expect([again.room, again.get('job'), again.number('layer'), again.memory('map').get('colour')]).toEqual([
      'head',
      'atlas-5f',
      3,
      'position & more',
    ])
    expect([again.isOpened('map.colour', 'position & more'), address.isOpened('map.colour', 'position & more')]).toEqual([true, false])
  })

  it('keeps what was set in a room when the reader comes back, and takes the head along', () => {
    const address = new Address('atlas')
    address.set({ 'grid.sort': 'entropy', layer: 2 })
    address.enter('head')
    expect([address.get('grid.sort'), address.number('layer')]).toEqual([null, 2])
    address.enter('atlas')
    expect(address.get('grid.sort')).toBe('entropy')
  })

  it('makes nothing depend on what views set of themselves', () => {
    const address = new Address('words')
    address.memory('map').set('at', '1,2,3')
    let runs = 0
    const stop = $effect.root(() => {
      $effect(() => {
        void [address.get('job'), address.get('map.with.mass')]
        runs++
      })
    })
    flushSync()
    address.memory('map').set('at', '4,5,6')
    flushSync()
    expect(runs).toBe(1)
    address.set({ 'map.with.mass': '0.9' })
    flushSync()
    expect([runs, address.text]).toEqual([2, 'words?map.at=4,5,6&map.with.mass=0.9'])
    stop()
  })

  it('leaves an address alone that was typed before a change was written down', () => {
    const address = new Address('atlas')
    address.memory('map').set('at', '1,2,3')
    history.replaceState(null, '', '#words?job=words-1')
    vi.runAllTimers()
    expect(location.hash).toBe('#words?job=words-1')
    dispatchEvent(new Event('hashchange'))
    expect([address.room, address.get('job')]).toEqual(['words', 'words-1'])
  })

  it('is replaced by small changes and pushed by going somewhere', () => {
    const address = new Address('atlas')
    const before = history.length
    address.memory('map').set('at', '1,2,3')
    vi.runAllTimers()
    expect(history.length).toBe(before)
    address.enter('words')
    expect(history.length).toBe(before + 1)
  })

  it('goes back to the first room when it is empty', () => {
    expect(new Address('atlas').room).toBe('atlas')
  })
})

it('text and values come back whatever they hold', () => {
  const values = { sel: '7:caf%C3%A9,:a%2Cb', k: '100', 'map.at': '1,-2.5,3' }
  expect(parsed(written('words', values))).toEqual({ room: 'words', values })
  expect(written('words', { at: '1,2' })).toBe('words?at=1,2')
})

describe('chosen items', () => {
  it('come back with place, label and focus', () => {
    const items = [
      { label: 'a,b:*', position: null },
      { label: '狐狸', position: 12 },
      { label: ' ', position: 0 },
      { label: '1/2-3', position: 4 },
      { label: 'bank', position: 11, nth: [2, 4] as const },
    ]
    expect(itemsOf(keptItems(items, 1))).toEqual({ items, focus: 1 })
  })

  it('are left out when there are too many for an address', () => {
    expect(
      keptItems(
        Array.from({ length: 101 }, (_, position) => ({ label: 'x', position })),
        null,
      ),
    ).toBeNull()
  })

  it('that are malformed are passed over', () => {
    expect(itemsOf('nonsense,3:cat,:%E0%A4%A')).toEqual({
      items: [
        { label: 'cat', position: 3 },
        { label: '%E0%A4%A', position: null },
      ],
      focus: null,
    })
  })
})

describe('a long selection', () => {
  it('is kept as runs of rows where they lie together', () => {
    const rows = [7, ...Array.from({ length: 300 }, (_, i) => 40 + i), 500]
    const kept = keptRows('words/map', [...rows].reverse())
    expect(kept).toBe('@words/map~7.40-339.500')
    expect(rowsOf(kept)).toEqual({ place: 'words/map', rows })
  })

  it('is kept as a bit for each row where they are scattered', () => {
    const rows = Array.from({ length: 5000 }, (_, i) => i).filter((i) => (i * i) % 7 < 3)
    const kept = keptRows('words/map', rows)
    expect(kept.length).toBeLessThan(900)
    expect(rowsOf(parsed(written('words', { sel: kept })).values['sel'])).toEqual({ place: 'words/map', rows })
  })

  it('is not mistaken for a short one, and survives nonsense', () => {
    expect(rowsOf('7:cat,:tea')).toBe(null)
    expect(rowsOf(null)).toBe(null)
    expect(rowsOf('@words/map~x-y.3')).toEqual({ place: 'words/map', rows: [3] })
  })
})
