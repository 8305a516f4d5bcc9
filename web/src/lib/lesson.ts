/** A page for a class: at every step the reader predicts, looks, and is told the true answer. */
export interface Lesson {
  title: string
  intro: string
  steps: Step[]
}

export interface Step {
  text: string
  question: string
  /** What may be chosen; empty where a number is asked for. */
  options: string[]
  answer: string | number
  unit: string
  /** How far a number may be off and still count. */
  within: number
  /** What to do in the picture before the answer is shown. */
  look: string
  explain: string
  /** The picture, by number. */
  view: number
  /** Whether the picture is there while the reader predicts, without its scores and notes. */
  shown: boolean
}

export function isRight(step: Step, said: string): boolean {
  return typeof step.answer === 'number' ? Math.abs(Number(said) - step.answer) <= step.within : said === step.answer
}

/** The true answer as it is written. */
export function written(step: Step): string {
  return `${step.answer}${step.unit ? ` ${step.unit}` : ''}`
}
