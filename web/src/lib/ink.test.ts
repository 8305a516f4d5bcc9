import { expect, it } from 'vitest'

import sheet from '../app.css?raw'
import { ink } from './ink'

it.each(['light', 'dark'] as const)('canvases have the colours of the sheet when it is %s', (theme) => {
  const start = theme === 'light' ? sheet.indexOf(':root {') : sheet.indexOf(":root[data-theme='dark'] {")
  const rules = sheet.slice(start, sheet.indexOf('}', start))
  const value = (name: string) => rules.match(new RegExp(`--${name}: (#\\w+);`))?.[1]
  const inks = { ...ink(theme) }
  expect(inks).toEqual({
    ground: value('ground'),
    raised: value('raised'),
    ink: value('ink'),
    soft: value('soft'),
    line: value('line-strong'),
    accent: value('accent'),
  })
})
