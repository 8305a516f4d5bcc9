import { expect, it } from 'vitest'

import type { Api, TokenCount } from './api'
import { strangeWords, tokenIn, upTo, wordsRead } from './followed'

it('says how many words are read of a text that is too long', () => {
  expect(wordsRead('a short text')).toBeNull()
  expect(wordsRead(`${'word '.repeat(47)}ends\nand more words`)).toEqual({ some: 48, all: 51 })
})

it('names the words that a model does not know, cut as the model cuts them', () => {
  const known = ['the', 'dog', "dog's", '.', '<s>']
  expect(strangeWords("<s> The dog's dog.", known)).toEqual([])
  expect(strangeWords('The öld dog, the öld well-kept one.', known)).toEqual(['öld', ',', 'well-kept', 'one'])
  expect(strangeWords('anything at all', [])).toEqual([])
})

it('reads up to a token that is followed, whatever a model counts it as', () => {
  const text = 'A bank.\n The banker saw the bank  and (Bank) left the riverbank.'
  expect(upTo(text, { label: 'Ġbank', nth: [2, 3] })).toBe('A bank. The banker saw the bank')
  expect(upTo(text, { label: 'bank', nth: [3, 3] })).toBe('A bank. The banker saw the bank and (Bank')
  expect(upTo(text, { label: 'left' })).toBe('A bank. The banker saw the bank and (Bank) left')
  // a model that finds it in pieces of words too counts others
  expect(upTo(text, { label: 'bank', nth: [2, 5] })).toBeNull()
  expect(upTo(text, { label: '(' })).toBe('A bank. The banker saw the bank and (')
})

it('finds the token as the model counts that reads it', async () => {
  const words = (text: string) => text.split(' ').filter(Boolean).length
  const api = (special: number) =>
    ({ countTokens: async (_: string, text: string) => ({ tokens: words(text), special }) as TokenCount }) as unknown as Api
  const text = 'the bank and the bank by the bank and more'
  const third = { label: 'bank', position: 31, nth: [3, 3] as const }
  expect(await tokenIn(api(0), 'decoder', text, third)).toBe(7)
  expect(await tokenIn(api(2), 'default', text, third)).toBe(8)
  // behind what is read, or no token at all
  expect(await tokenIn(api(0), 'decoder', `${'word '.repeat(60)}bank`, { label: 'bank', position: 60 })).toBeNull()
  expect(await tokenIn(api(0), 'decoder', text, { label: 'bank', position: null })).toBeNull()
  // where the text has it otherwise than the room it comes from, the room's own number is near
  expect(await tokenIn(api(0), 'decoder', text, { label: 'bank', position: 4, nth: [2, 5] })).toBe(4)
})
