/** A word that the tokenizer cut: its tokens, or rows of a map, and the word as it is read. */
export interface Word {
  tokens: number[]
  text: string
}

/** Tokens with the pieces of each word joined: what stands in each place, which tokens it holds, and whose place each has. */
export interface Joined {
  labels: string[]
  groups: number[][]
  of: Int32Array
}

/** A token that is a word of its own, without the sign of the space before it. */
export function plainWord(label: string): string {
  return label.replace(/^␣+(?=[^␣])/, '')
}

/** Tokens that belong to no cut word stay as they are. */
export function joinWords(labels: readonly string[], words: readonly Word[]): Joined {
  const starts = new Map(words.map((word) => [word.tokens[0], word]))
  const joined: Joined = { labels: [], groups: [], of: new Int32Array(labels.length) }
  for (let at = 0; at < labels.length;) {
    const word = starts.get(at)
    const tokens = word?.tokens ?? [at]
    for (const token of tokens) joined.of[token] = joined.groups.length
    joined.groups.push(tokens)
    joined.labels.push(word?.text ?? plainWord(labels[at]))
    at = tokens[tokens.length - 1] + 1
  }
  return joined
}
