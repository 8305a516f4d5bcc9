import { expect, it } from 'vitest'

import { Selection } from './selection.svelte'

it('one chosen row has the focus, several have none', () => {
  const selection = new Selection()
  selection.set([4])
  expect(selection.focus).toBe(4)
  selection.set([4, 5])
  expect(selection.focus).toBeNull()
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
