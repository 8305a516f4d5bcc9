import { css, wordColour, type Lstm, type Operation } from './model'

/** A run of letters, and whether they stand below the line. */
export interface Piece {
  text: string
  below: boolean
}

/** Letters of a formula, with what follows a low line set below it: “c_t−1” is c with t−1, “W_f x” is W with f. */
export function pieces(formula: string): Piece[] {
  const all = formula.split(/(_t−1|_[a-z])/).filter((text) => text)
  return all.map((text) => (text.startsWith('_') ? { text: text.slice(1), below: true } : { text, below: false }))
}

/** How many letters wide a formula is; those below the line are smaller. */
export function lettersWide(formula: string): number {
  return pieces(formula).reduce((sum, { text, below }) => sum + (below ? 0.72 : 1) * text.length, 0)
}

/** An operation as it is drawn: a layer that was learned is a box, what is done unit by unit is round. */
export interface Sign {
  text: string
  learned: boolean
}

/** The sign of an operation; `layer` says that a matrix product is gone through before its curve. */
export function signOf(kind: Operation['kind'], layer: boolean): Sign {
  if (kind === 'softmax') return { text: 'softmax', learned: true }
  if (kind === 'matrix') return { text: 'W', learned: true }
  const text = { product: '×', sum: '+', complement: '1−', sigmoid: 'σ', tanh: 'tanh' }[kind]
  return { text, learned: layer }
}

/** A line of the key: the formula, and what it is in words. */
export interface Line {
  formula: string
  says: string
}

/** The formulas of a step in the letters of the graph, in the order in which they are computed. */
export const FORMULAS: Record<'lstm' | 'gru', Line[]> = {
  lstm: [
    { formula: 'f = σ(W_f x + U_f h_t−1 + b_f)', says: 'forget gate: how much of each cell is kept' },
    { formula: 'i = σ(W_i x + U_i h_t−1 + b_i)', says: 'input gate: how much of the candidate is added' },
    { formula: 'g = tanh(W_g x + U_g h_t−1 + b_g)', says: 'candidate: what could be added' },
    { formula: 'o = σ(W_o x + U_o h_t−1 + b_o)', says: 'output gate: how much of each cell is let out' },
    { formula: 'c = f × c_t−1 + i × g', says: 'cell: the memory, handed on to the next step' },
    { formula: 'h = o × tanh(c)', says: 'hidden vector: what predicts, and what the next step reads' },
    { formula: 'softmax(W h + b)', says: 'chances of the next word, which add up to 1 over all words' },
  ],
  gru: [
    { formula: 'r = σ(W_r x + U_r h_t−1 + b_r)', says: 'reset gate: how much of the state the candidate reads' },
    { formula: 'z = σ(W_z x + U_z h_t−1 + b_z)', says: 'update gate: how much of the state is kept' },
    { formula: 'n = tanh(W_n x + b_n + r × (U_n h_t−1 + b_h))', says: 'candidate: what could be added' },
    { formula: 'h = z × h_t−1 + (1 − z) × n', says: 'hidden vector: the state, which predicts and is handed on' },
    { formula: 'softmax(W h + b)', says: 'chances of the next word, which add up to 1 over all words' },
  ],
}

/** Words of the page whose colours are as far apart as can be, the first of them the last that was read. */
export function sampleWords(flow: Lstm, count: number): { word: string; colour: string }[] {
  const colours = flow.arrays['word_colours']?.data as Uint8Array | undefined
  if (!colours) return []
  const rows = flow.words.map((_, i) => i).filter((i) => flow.words[i].trim() !== '')
  const far = new Float64Array(flow.words.length).fill(Infinity)
  const found: number[] = []
  const last = flow.tokens[flow.tokens.length - 1]
  let next = Math.max(flow.words.indexOf(last), 0)
  while (found.length < Math.min(count, rows.length)) {
    found.push(next)
    for (const i of rows) {
      const away = [0, 1, 2].reduce((sum, k) => sum + (colours[3 * i + k] - colours[3 * next + k]) ** 2, 0)
      far[i] = Math.min(far[i], away)
    }
    next = rows.reduce((best, i) => (far[i] > far[best] ? i : best), rows[0])
    if (far[next] === 0) break
  }
  return found.map((i) => ({ word: flow.words[i], colour: wordColour(flow, i) ?? css([128, 128, 128]) }))
}
