/** The data of server-sent events, one by one as they come. */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      const events = rest.split('\n\n')
      rest = events.pop()!
      for (const event of events) {
        const data = event.split('\n').filter((line) => line.startsWith('data: '))
        // A comment says that the line is still there.
        yield data.map((line) => line.slice(6)).join('\n')
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
