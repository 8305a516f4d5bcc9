import { expect, it } from 'vitest'

import type { Job } from './api'
import { duration, Jobs, share } from './jobs.svelte'

const job = (id: string, state: Job['state'], made = 0): Job => ({
  id, state, made, ask: 'atlas', title: id, doing: '', done: 0, total: 0, seconds: 0, left: null, settings: {}, inputs: {}, digest: '', views: [], error: null,
})

it('jobs are listed with the newest first, and deleted ones go', () => {
  const jobs = new Jobs()
  jobs.take(job('a', 'done', 1), job('b', 'running', 2))
  expect([jobs.listed.map(({ id }) => id), jobs.live.map(({ id }) => id)]).toEqual([['b', 'a'], ['b']])
  jobs.take({ id: 'b', state: 'deleted' } as Job)
  expect([jobs.listed.map(({ id }) => id), jobs.get('b')]).toEqual([['a'], null])
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

it.each([[0.44, '0.4 s'], [9.97, '10 s'], [59.4, '59 s'], [60, '1 min'], [200, '3 min 20 s'], [3599, '59 min 59 s'], [3900, '1 h 5 min']])('%d seconds are %s', (seconds, said) => {
  expect(duration(seconds)).toBe(said)
})
