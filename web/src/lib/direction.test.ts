import { expect, it } from 'vitest'

import { directionOf } from './direction'

it('reads Arabic and Hebrew from the right, whatever special tokens and signs stand between', () => {
  expect(directionOf(['[CLS]', 'ال', '##س', '<s>', '.', '␣ع'])).toBe('rtl')
  expect(directionOf(['שלום', '␣ok'])).toBe('ltr')
  expect(directionOf(['[CLS]', 'lamp', 'ال', 'light'])).toBe('ltr')
  expect(directionOf([])).toBe('ltr')
  expect(directionOf(['日本', '.'])).toBe('ltr')
})
