import './app.css'

import { mount } from 'svelte'

import { sharedOf, stateIn } from './lib/pageState'
import { theme } from './lib/theme.svelte'
import { unpackView, type PackedView } from './lib/view'
import Page from './Page.svelte'

/** A self-contained page: its data stands in the document, nothing is fetched. */
async function open(): Promise<void> {
  const target = document.getElementById('app')!
  try {
    const text = document.getElementById('langscape-data')?.textContent
    if (!text) throw new Error('the page holds no data')
    const { views } = JSON.parse(text) as { views: PackedView[] }
    const state = stateIn(document)
    if (state) theme.begin(state.theme)
    mount(Page, { target, props: { views: await Promise.all(views.map(unpackView)), shared: state ? sharedOf(state) : undefined } })
  } catch (error) {
    target.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}. Export it again.`
    throw error
  }
}

void open()
