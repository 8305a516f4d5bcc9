import '../app.css'

import { mount } from 'svelte'

import { Api } from './api'
import { AppState } from './appState.svelte'
import Studio from './Studio.svelte'

mount(Studio, { target: document.getElementById('app')!, props: { app: new AppState(new Api()) } })
