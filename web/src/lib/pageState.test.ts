import { expect, it } from 'vitest'

import { sharedOf, stateIn, withState } from './pageState'

const PAGE =
  '<html><body><div id="app"></div><script type="application/json" id="langscape-data">{}</script>\n<script>run()</script></body></html>'
const STATE = {
  values: { colour: 'sentence', at: '1,2,3' },
  items: [{ label: '</script><b>', position: 7 }],
  focus: 0,
  theme: 'dark' as const,
}

it('a page gives back what was set and chosen when it was saved, and its script is as it was', () => {
  const page = new DOMParser().parseFromString(withState(PAGE, STATE), 'text/html')
  expect(stateIn(page)).toEqual(STATE)
  expect([...page.scripts].at(-1)!.textContent).toBe('run()')
  expect(page.querySelector('b')).toBeNull()
})

it('a page that was written by the library has no state', () => {
  expect(stateIn(new DOMParser().parseFromString(PAGE, 'text/html'))).toBeNull()
})

it('pictures read the state as they read the address', () => {
  const { link, memory } = sharedOf(STATE)
  expect([memory.get('colour'), memory.get('other'), link.items, link.focus]).toEqual(['sentence', null, STATE.items, 0])
  memory.set('colour', null)
  expect(memory.get('colour')).toBeNull()
})
