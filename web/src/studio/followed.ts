import { folded, type Item } from '../lib/link.svelte'
import type { Api } from './api'
import { beginningOf } from './formInput'

/** The words of a text that a model does not know, each once; none of a model that reads any word, whose vocabulary is empty. */
export function strangeWords(text: string, vocabulary: readonly string[]): string[] {
  if (!vocabulary.length) return []
  const known = new Set(vocabulary)
  // as the server cuts it: a name in angle brackets, a word with its inner hyphens and apostrophes, or one mark
  const words = text.match(/<[\p{L}\p{N}_]+>|[\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu) ?? []
  return [...new Set(words.filter((word) => !known.has(word) && !known.has(word.toLowerCase())))]
}

/** How many words are read of a text that is read at its beginning alone, of how many; null where all are. */
export function wordsRead(text: string): { some: number; all: number } | null {
  const [some, all] = [beginningOf(text), text].map((one) => one.trim().split(/\s+/).length)
  return some < all ? { some, all } : null
}

/**
 * The text on one line up to the end of a token that is followed, so that its tokens can be counted for any model: the
 * third “bank” of four. Null where the text does not have it so often, as of a piece of a word.
 */
export function upTo(text: string, { label, nth }: Pick<Item, 'label' | 'nth'>): string | null {
  const line = text.trim().replace(/\s+/g, ' ')
  const bare = folded(label)
  const word = bare.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  // a mark may stand right beside a letter, a word may not
  const [before, behind] = /^[\p{L}\p{N}]/u.test(bare) ? ['(?<![\\p{L}\\p{N}])', '(?![\\p{L}\\p{N}])'] : ['', '']
  const found = [...line.matchAll(new RegExp(before + word + behind, 'giu'))]
  const [at, of] = nth ?? [1, 1]
  return found.length === of && at <= of ? line.slice(0, found[at - 1].index + found[at - 1][0].length) : null
}

/** Which token of the beginning of a text a followed one is, as a model counts them; null where it is not in it. */
export async function tokenIn(api: Pick<Api, 'countTokens'>, model: string, text: string, item: Item | null): Promise<number | null> {
  if (item === null || item.position === null) return null
  const [read, before] = [beginningOf(text), upTo(text, item)]
  if (before !== null && before.length > read.length) return null
  const counted = await Promise.all([read, before ?? read].map((one) => api.countTokens(model, one))).catch(() => null)
  if (!counted) return null
  const [all, some] = counted
  const first = Math.ceil(all.special / 2)
  const place = before === null ? item.position : first + some.tokens - 1
  return place < first + all.tokens ? place : null
}
