import { expect, it, vi } from 'vitest'

import { ApiError, type Job } from './api'
import { duration, howFar, isExample, Jobs, share, wouldRepeat } from './jobs.svelte'

const job = (id: string, state: Job['state'], made = 0): Job => ({
  id,
  state,
  made,
  analysis: 'atlas',
  title: id,
  doing: '',
  done: 0,
  total: 0,
  seconds: 0,
  left: null,
  settings: {},
  inputs: {},
  digest: '',
  views: [],
  error: null,
  figures: {},
  counts: true,
  here: true,
  changed: made,
})

it('jobs are listed with the newest first, and deleted ones go', () => {
  const jobs = new Jobs()
  jobs.take(job('a', 'done', 1), job('b', 'running', 2))
  expect([jobs.listed.map(({ id }) => id), jobs.live.map(({ id }) => id)]).toEqual([['b', 'a'], ['b']])
  jobs.take({ id: 'b', state: 'deleted' } as Job)
  expect([jobs.listed.map(({ id }) => id), jobs.get('b')]).toEqual([['a'], null])
})

it('a job that asks what an example asks is an example, whatever its order or age', () => {
  const text = { id: 'sample-harbour', name: 'harbour', kind: 'text' as const }
  const example = { ...job('a', 'done'), settings: { layer: 2, head: 1 }, inputs: { text } } as Job
  expect(isExample({ ...example, id: 'b', state: 'failed', settings: { head: 1, layer: 2 } }, [example])).toBe(true)
  expect(isExample({ ...example, id: 'c', settings: { layer: 2, head: 2 } }, [example])).toBe(false)
  expect(isExample({ ...example, id: 'd', inputs: { text: { ...text, id: 'in-1' } } } as Job, [example])).toBe(false)
  expect(isExample({ ...example, id: 'e', analysis: 'head' }, [example])).toBe(false)
})

it('a later telling replaces what was known', () => {
  const jobs = new Jobs()
  jobs.take(job('a', 'queued'))
  jobs.take({ ...job('a', 'running'), done: 3, total: 4 })
  expect(share(jobs.get('a')!)).toBe(0.75)
})

it('an answer that comes after the news of the end does not bring the job back', () => {
  const jobs = new Jobs()
  jobs.take({ ...job('a', 'done'), changed: 2 })
  jobs.take({ ...job('a', 'queued'), changed: 1 })
  expect(jobs.get('a')!.state).toBe('done')
  jobs.take({ ...job('a', 'queued'), changed: 3 })
  expect(jobs.get('a')!.state).toBe('queued')
})

it('a list that was sent before a job was deleted does not bring it back', () => {
  const jobs = new Jobs()
  jobs.take({ ...job('a', 'cancelled'), changed: 2 })
  jobs.take({ id: 'a', state: 'deleted' } as Job)
  jobs.take({ id: 'a', state: 'deleted' } as Job)
  jobs.take({ ...job('a', 'cancelled'), changed: 2 })
  expect(jobs.get('a')).toBeNull()
  jobs.take({ ...job('a', 'queued'), changed: 3 })
  expect(jobs.get('a')!.state).toBe('queued')
})

it('who waits for a job is told when it ends', async () => {
  const jobs = new Jobs()
  jobs.take(job('a', 'running'))
  const ended = jobs.ended('a')
  jobs.take(job('a', 'cancelled'))
  expect((await ended).state).toBe('cancelled')
  expect((await jobs.ended('a')).state).toBe('cancelled')
})

it('how far a job is cannot be said before its total is known', () => {
  expect([share({ done: 3, total: 0 }), share({ done: 9, total: 4 })]).toEqual([null, 1])
})

it.each([
  [0.44, '0.4 s'],
  [9.97, '10 s'],
  [59.4, '59 s'],
  [60, '1 min'],
  [200, '3 min 20 s'],
  [3599, '59 min 59 s'],
  [3900, '1 h 5 min'],
])('%d seconds are %s', (seconds, said) => {
  expect(duration(seconds)).toBe(said)
})

const told = (one: Job) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(one)}\n\n`))
      controller.close()
    },
  })

it('a line that breaks is taken up again, and a refusal is told once', async () => {
  vi.useFakeTimers()
  const refusal = new ApiError({ code: 'no_session', message: 'no session', hint: '' })
  const answers = [
    () => told(job('a', 'running')),
    () => {
      throw new ApiError({ code: 'unreachable', message: '', hint: '' })
    },
    () => {
      throw refusal
    },
    () => {
      throw refusal
    },
    () => told(job('b', 'done')),
  ]
  const refused: ApiError[] = []
  const jobs = new Jobs()
  let asked = 0
  const close = jobs.listen({ events: async () => answers[asked++]?.() ?? new ReadableStream() }, (error) => refused.push(error))
  for (let step = 0; step < answers.length; step++) await vi.advanceTimersByTimeAsync(1000)
  expect([[...jobs.all.keys()].sort(), refused, asked]).toEqual([['a', 'b'], [refusal], answers.length + 1])
  close()
  vi.useRealTimers()
})

it('a server that says nothing for long is asked again', async () => {
  vi.useFakeTimers()
  const jobs = new Jobs()
  let asked = 0
  const events = async (signal: AbortSignal) => {
    asked++
    return new ReadableStream<Uint8Array>({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
    })
  }
  const close = jobs.listen({ events })
  await vi.advanceTimersByTimeAsync(29_000)
  expect(asked).toBe(1)
  await vi.advanceTimersByTimeAsync(2_500)
  expect(asked).toBe(2)
  close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(asked).toBe(2)
  vi.useRealTimers()
})

it('how far a job is, is told in what a reader counts, and else as a share', () => {
  const far = (done: number, total: number, counts = true) => howFar({ done, total, counts })
  expect([far(12, 72), far(1500, 20000), far(199, 200, false), far(0, 1), far(0, 0, false)]).toEqual([
    '12 of 72',
    '1,500 of 20,000',
    '99 %',
    '',
    '',
  ])
})

it('what was asked wrongly fails again, what was interrupted may not', () => {
  const failed = (code: 'bad_input' | 'missing' | 'lost' | 'store') => ({ ...job('a', 'failed'), error: { code, message: '', hint: '' } })
  expect((['bad_input', 'missing', 'lost', 'store'] as const).map((code) => wouldRepeat(failed(code)))).toEqual([true, true, false, false])
  expect(wouldRepeat(job('a', 'cancelled'))).toBe(false)
})
