import { describe, expect, it } from 'vitest'

import { Api, ApiError, type ViewDescription } from './api'

function server(routes: Record<string, () => Response>) {
  const asked: string[] = []
  const api = new Api(((path: string) => {
    asked.push(path)
    const route = routes[path]
    return Promise.resolve(
      route ? route() : new Response('{"error": {"code": "not_found", "message": "no such thing", "hint": "look again"}}', { status: 404 }),
    )
  }) as typeof fetch)
  return { api, asked }
}

const VIEW: ViewDescription = {
  kind: 'scatter',
  properties: { title: 'A', later: ['restarts'] },
  arrays: { xy: { dtype: 'float32', shape: [1, 2], url: '/xy' }, restarts: { dtype: 'uint8', shape: [3], url: '/restarts' } },
}
const json = (value: unknown) => () => new Response(JSON.stringify(value))
const routes = {
  '/api/jobs/j/views/head?layer=0&head=3': json(VIEW),
  '/xy': () => new Response(Float32Array.of(1.5, -2).buffer),
  '/restarts': () => new Response(Uint8Array.of(7, 8, 9).buffer),
}

describe('a view from the server', () => {
  it('has its arrays as numbers, and those for later when they are asked for, once', async () => {
    const { api, asked } = server(routes)
    const view = await api.view('j', 'head', { layer: 0, head: 3, quantiles: null })
    expect([view.kind, [...view.arrays.xy.data], asked.includes('/restarts')]).toEqual(['scatter', [1.5, -2], false])
    const [first, second] = await Promise.all([view.later.restarts(), view.later.restarts()])
    expect([...first.data]).toEqual([7, 8, 9])
    expect([first === second, asked.filter((path) => path === '/restarts').length]).toEqual([true, 1])
  })

  it('is fetched once however often it is shown', async () => {
    const { api, asked } = server(routes)
    const [one, two] = [await api.view('j', 'head', { layer: 0, head: 3 }), await api.view('j', 'head', { layer: 0, head: 3 })]
    expect([one === two, asked.length]).toEqual([true, 2])
  })

  it('that failed is asked for again', async () => {
    const { api, asked } = server({})
    await expect(api.view('j', 'grid')).rejects.toThrow('no such thing')
    await expect(api.view('j', 'grid')).rejects.toThrow('no such thing')
    expect(asked.length).toBe(2)
  })

  it('is refused when bytes are missing, naming the array', async () => {
    const { api } = server({ ...routes, '/xy': () => new Response(new ArrayBuffer(4)) })
    await expect(api.view('j', 'head', { layer: 0, head: 3 })).rejects.toThrow('array xy holds 1 numbers, but its shape 1×2 needs 2')
  })
})

describe('what the server refuses', () => {
  const problem = async (answer: Promise<unknown>) => {
    try {
      await answer
    } catch (error) {
      return (error as ApiError).problem
    }
    return null
  }

  it('comes with its code, message and hint', async () => {
    expect(await problem(server({}).api.job('x'))).toEqual({ code: 'not_found', message: 'no such thing', hint: 'look again' })
  })

  it('is readable even when it is no JSON', async () => {
    const { api } = server({ '/api/about': () => new Response('<h1>oops</h1>', { status: 502, statusText: 'Bad Gateway' }) })
    expect((await problem(api.about()))?.message).toBe('The studio’s server answered 502 Bad Gateway.')
  })

  it('and a server that is gone says where to look', async () => {
    const api = new Api(() => Promise.reject(new TypeError('network')))
    expect((await problem(api.jobs()))?.hint).toContain('langscape studio')
  })
})

it('every request carries the key that the way in left in storage, beside its own headers', async () => {
  const sent: RequestInit[] = []
  const using = ((_: string, options: RequestInit) => {
    sent.push(options)
    return Promise.resolve(new Response('{}'))
  }) as typeof fetch
  const api = new Api(using, { getItem: (name: string) => (name === 'langscape-key' ? 'secret' : null) })
  await api.about()
  await api.run('atlas', {}, {})
  await api.events(new AbortController().signal)
  expect(sent.map(({ headers }) => (headers as Record<string, string>)['langscape-key'])).toEqual(['secret', 'secret', 'secret'])
  expect((sent[1].headers as Record<string, string>)['content-type']).toBe('application/json')
})

it('a file is made of a view with its parameters', async () => {
  const { api } = server({ '/api/jobs/j/export?view=head&format=csv&layer=1': () => new Response('a,b') })
  expect(await (await api.export('j', 'head', { layer: 1 }, 'csv')).text()).toBe('a,b')
})
