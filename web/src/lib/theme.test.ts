import { afterEach, expect, it } from 'vitest'

import { themeAround } from './theme.svelte'

afterEach(() => document.body.replaceChildren())

it.each([
  ['rgb(20, 20, 20)', 'dark'],
  ['rgb(250, 250, 250)', 'light'],
  ['rgba(0, 0, 0, 0)', null],
])('a notebook on %s is %s', (ground, theme) => {
  const outer = document.createElement('div')
  outer.style.backgroundColor = ground
  outer.innerHTML = '<div style="background: transparent"><p></p></div>'
  document.body.append(outer)
  expect(themeAround(outer.querySelector('p')!)).toBe(theme)
})
