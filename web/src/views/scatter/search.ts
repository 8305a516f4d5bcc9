/** Finds labels by what they hold, whatever the case, or by a regular expression between slashes. */
export class Search {
  readonly #labels: string[]
  readonly #folded: string[]

  constructor(labels: string[]) {
    this.#labels = labels.map(bare)
    this.#folded = labels.map(fold)
  }

  /** Rows whose label holds the text; labels that equal it come first, then those that begin with it. */
  find(text: string): number[] {
    if (!text.trim()) return []
    const pattern = patternOf(text)
    if (pattern === null) return []
    if (pattern !== undefined) return this.#labels.flatMap((label, row) => (pattern.test(label) ? [row] : []))
    const wanted = fold(text.trim())
    const groups: [number[], number[], number[]] = [[], [], []]
    this.#folded.forEach((label, row) => {
      if (!label.includes(wanted)) return
      groups[label === wanted ? 0 : label.startsWith(wanted) ? 1 : 2].push(row)
    })
    return groups.flat()
  }
}

/** Letters of a pattern at most: a longer one is no search of labels, and could take for ever. */
const LONGEST = 200

/**
 * The regular expression that a search between slashes is, `/^un.*ed$/`; case counts only where it is asked for with
 * `/…/s`. Undefined for any other text, and null for a pattern that is none.
 */
export function patternOf(text: string): RegExp | null | undefined {
  const found = /^\/(.+)\/(s?)$/.exec(text.trim())
  if (!found) return undefined
  if (found[1].length > LONGEST) return null
  try {
    return new RegExp(found[1], found[2] ? 'u' : 'iu')
  } catch {
    return null
  }
}

/** Without case, and without the sign for a leading space. */
function fold(text: string): string {
  return bare(text).toLowerCase()
}

function bare(text: string): string {
  return text.normalize('NFC').replace(/^␣+(?=.)/, '')
}
