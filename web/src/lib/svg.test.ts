import { expect, it } from 'vitest'

import { escape } from './svg'

it('text in a saved picture can neither open an element nor break the file', () => {
  const hostile = '</text><script>alert(1)</script> & "quoted" \u0000 \ud800 ok'
  const parsed = new DOMParser().parseFromString(
    `<svg xmlns="http://www.w3.org/2000/svg"><text>${escape(hostile)}</text></svg>`,
    'image/svg+xml',
  )
  expect(parsed.querySelector('parsererror')).toBeNull()
  expect(parsed.querySelector('script')).toBeNull()
  expect(parsed.querySelector('text')!.textContent).toBe('</text><script>alert(1)</script> & "quoted" \ufffd \ufffd ok')
})
