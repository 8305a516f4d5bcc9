import './app.css'

import { mount } from 'svelte'

import type { Lesson as LessonText } from './lib/lesson'
import { sharedOf, stateIn } from './lib/pageState'
import { theme } from './lib/theme.svelte'
import { unpackView, type PackedView } from './lib/view'
import Lesson from './Lesson.svelte'
import Page from './Page.svelte'

/** A self-contained page: its data stands in the document, nothing is fetched. */
async function open(): Promise<void> {
  const target = document.getElementById('app')!
  try {
    const text = document.getElementById('langscape-data')?.textContent
    if (!text) throw new Error('the page holds no data')
    const { views: packed, lesson } = JSON.parse(text) as { views: PackedView[]; lesson?: LessonText }
    const views = await Promise.all(packed.map(unpackView))
    const state = stateIn(document)
    if (state) theme.begin(state.theme)
    if (lesson) mount(Lesson, { target, props: { views, lesson } })
    else mount(Page, { target, props: { views, shared: state ? sharedOf(state) : undefined } })
  } catch (error) {
    target.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}. Export it again.`
    throw error
  }
}

void open()
