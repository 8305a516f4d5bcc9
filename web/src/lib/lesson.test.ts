import { expect, test } from 'vitest'

import { isRight, written, type Step } from './lesson'

const step: Step = {
  text: '',
  question: '',
  options: [],
  answer: 54,
  unit: '%',
  within: 10,
  look: '',
  explain: '',
  view: 0,
  shown: false,
}

test('a number counts as right within the distance that the step names', () => {
  expect(['44', '54', '64', '43', '65', 'x'].map((said) => isRight(step, said))).toEqual([true, true, true, false, false, false])
  expect(written(step)).toBe('54 %')
})

test('a choice is right where it is the answer', () => {
  const chosen = { ...step, options: ['the token before', 'itself'], answer: 'itself', unit: '' }
  expect(isRight(chosen, 'itself')).toBe(true)
  expect(isRight(chosen, 'the token before')).toBe(false)
})
