/** Finds labels by substring, whatever the case. Labels are folded once. */
export class Search {
  readonly #folded: string[]

  constructor(labels: string[]) {
    this.#folded = labels.map(fold)
  }

  /** Rows whose label holds the text; labels that equal it come first, then those that begin with it. */
  find(text: string): number[] {
    const wanted = fold(text.trim())
    if (!wanted) return []
    const groups: [number[], number[], number[]] = [[], [], []]
    this.#folded.forEach((label, row) => {
      if (!label.includes(wanted)) return
      groups[label === wanted ? 0 : label.startsWith(wanted) ? 1 : 2].push(row)
    })
    return groups.flat()
  }
}

/** Without case, and without the sign for a leading space. */
function fold(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/^␣+(?=.)/, '')
}
