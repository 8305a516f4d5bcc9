import '../app.css'

import { mount } from 'svelte'

import { Api } from './api'
import { Desk } from './desk.svelte'
import Studio from './Studio.svelte'

mount(Studio, { target: document.getElementById('app')!, props: { desk: new Desk(new Api()) } })
