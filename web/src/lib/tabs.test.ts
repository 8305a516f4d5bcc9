import { expect, it } from 'vitest'

import { tabNames } from './tabs'
import type { View } from './view'

const view = (title: string, kind = 'scatter'): View => ({ kind, properties: { title }, arrays: {}, later: {} })

it('tells tabs apart by what their titles do not share', () => {
  expect(tabNames([view('Layer 0, head 2 of MiniLM-L6: map'), view('Layer 0, head 2 of MiniLM-L6', 'attention')])).toEqual([
    'Map',
    'Attention',
  ])
})

it('leaves titles alone of which none begins the others', () => {
  expect(tabNames([view('631 words'), view('5,000 words')])).toEqual(['631 words', '5,000 words'])
  expect(tabNames([view('Queries and keys of layer 1'), view('Queries and keys of layer 12')])).toEqual([
    'Queries and keys of layer 1',
    'Queries and keys of layer 12',
  ])
})
