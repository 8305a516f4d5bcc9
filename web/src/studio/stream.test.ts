import { expect, it } from 'vitest'

import { messages } from './stream'

function sent(...chunks: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk))
  return new ReadableStream({
    start(controller) {
      for (const one of bytes) controller.enqueue(one)
      controller.close()
    },
  })
}

async function all(body: ReadableStream<Uint8Array>): Promise<string[]> {
  const found: string[] = []
  for await (const one of messages(body)) found.push(one)
  return found
}

it('events come whole, however the bytes were cut', async () => {
  const [first, second] = [new Uint8Array([...new TextEncoder().encode('data: "caf'), 0xc3]), new Uint8Array([0xa9, 0x22, 0x0a])]
  expect(await all(sent('retry: 1000\n\nda', 'ta: 1\n', '\ndata: 2\n\n', first, second, '\n'))).toEqual(['', '1', '2', '"café"'])
})

it('a comment is a sign of life without data, and half an event at the end is none', async () => {
  expect(await all(sent(': still here\n\n', 'data: {"id"'))).toEqual([''])
})

it('who stops listening lets the stream go', async () => {
  let cancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
    cancel: () => void (cancelled = true),
  })
  for await (const one of messages(endless)) if (one) break
  expect(cancelled).toBe(true)
})
