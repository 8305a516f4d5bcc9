import { expect, it } from 'vitest'

import { Link } from './link.svelte'
import { Selection } from './selection.svelte'

it('one chosen row has the focus, several have none', () => {
  const selection = new Selection()
  selection.set([4])
  expect(selection.focus).toBe(4)
  selection.set([4, 5])
  expect(selection.focus).toBeNull()
})

it('one word that stands several times is told from several words', () => {
  const link = new Link()
  const selection = new Selection(link, { labels: ['bank', 'pike', 'Bank'], positions: [1, 2, 3] })
  link.set([{ label: 'bank', position: null }], 0)
  expect([selection.rows, selection.focus, selection.isWord]).toEqual([[0, 2], null, true])
  selection.set([0, 2])
  expect(selection.isWord).toBe(false)
  selection.set([2])
  expect([selection.focus, selection.isWord]).toEqual([2, false])
})

it('toggling adds at the end and takes out again', () => {
  const selection = new Selection()
  selection.set([1])
  selection.toggle(3)
  expect([selection.rows, selection.focus]).toEqual([[1, 3], 3])
  selection.toggle(3)
  expect([selection.rows, selection.focus]).toEqual([[1], 1])
  selection.clear()
  expect([selection.rows, selection.focus]).toEqual([[], null])
})
