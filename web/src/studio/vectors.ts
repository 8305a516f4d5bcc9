/** Vectors of the reader's own, by name, as the address and the server say them: "mine:0.5,-1.2;other:1,2". */
export type Vectors = Record<string, number[]>

export function vectorsOf(text: string | null): Vectors {
  const found: Vectors = {}
  for (const part of text?.split(';') ?? []) {
    const at = part.lastIndexOf(':')
    const numbers = part
      .slice(at + 1)
      .split(',')
      .map(Number)
    if (at > 0 && numbers.every(Number.isFinite)) found[part.slice(0, at)] = numbers
  }
  return found
}

/** Six digits that count place a point where all of them would, and keep the address short. */
export function keptVectors(vectors: Vectors): string | null {
  const parts = Object.entries(vectors).map(([name, numbers]) => `${name}:${numbers.map((one) => Number(one.toPrecision(6))).join(',')}`)
  return parts.join(';') || null
}

/**
 * A pasted vector: numbers between spaces, commas or brackets, perhaps with a name before them as in a line of a
 * GloVe file. Says what is wrong where it cannot be read.
 */
export function readVector(text: string): { name: string; numbers: number[] } | string {
  const parts = text
    .replace(/[[\](){}]/g, ' ')
    .trim()
    .split(/[\s,;]+/)
    .filter(Boolean)
  const name = parts.length && !Number.isFinite(Number(parts[0])) ? parts.shift()!.replace(/[:;,=]+$/, '') : 'mine'
  if (!parts.length) return 'Paste the numbers of a vector.'
  const wrong = parts.find((part) => !Number.isFinite(Number(part)))
  if (wrong !== undefined) return `“${wrong.slice(0, 40)}” is no number.`
  return { name: name || 'mine', numbers: parts.map(Number) }
}
