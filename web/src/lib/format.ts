/** A number as a reader wants it: three significant figures, thin grouping, no exponent in the usual range. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '–'
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2).replaceAll('-', '−')
  if (Number.isInteger(value)) return formatCount(value)
  if (size >= 1000) return formatCount(Math.round(value))
  const digits = size >= 100 ? 1 : size >= 1 ? 2 : 3
  return value.toFixed(digits).replace('-', '−')
}

export function formatCount(value: number): string {
  const [sign, digits] = value < 0 ? ['−', String(-value)] : ['', String(value)]
  return sign + digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Tokens as every view counts them: those of the text, and beside them the special ones of the model. */
export function tokenCount(special: ArrayLike<number>): string {
  const marked = Array.from(special).filter(Boolean).length
  const own = special.length - marked
  return `${formatCount(own)} ${own === 1 ? 'token' : 'tokens'}${marked ? ` (and ${formatCount(marked)} special)` : ''}`
}

/** A share as a percentage to a tenth, as all scores are said. */
export function formatShare(value: number): string {
  return Number.isNaN(value) ? '–' : `${(100 * value).toFixed(1)} %`
}

/** 1st, 2nd, 3rd, 4th, … 11th, … 21st. */
export function ordinal(value: number): string {
  const teen = value % 100 >= 11 && value % 100 <= 13
  return formatCount(value) + (teen ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th'))
}
