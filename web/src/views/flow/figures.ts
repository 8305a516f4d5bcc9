import { formatNumber } from '../../lib/format'

/** Numbers that belong together, all with the decimals that the largest of them needs: so they can be added by eye. */
export function aligned(largest: number): (value: number) => string {
  const size = Math.abs(largest)
  if (!Number.isFinite(size) || size >= 1000 || (size < 1e-3 && size > 0)) return formatNumber
  const digits = size >= 100 ? 1 : size >= 10 ? 2 : 3
  return (value) => {
    const shown = value.toFixed(digits)
    // What rounds to nothing has no sign.
    return Number(shown) === 0 ? (0).toFixed(digits) : shown.replace('-', '−')
  }
}

/** A probability as a percentage, to two significant figures, with a tenth of a percent as the finest above 1 %. */
export function percent(share: number): string {
  const value = 100 * share
  if (!(value >= 0)) return '–'
  if (value > 0 && value < 0.01) return '< 0.01 %'
  return `${value >= 99.95 || value === 0 ? value.toFixed(0) : value >= 0.995 ? value.toFixed(1) : value.toFixed(2)} %`
}

/** A difference that should be nothing: its order of size. */
export function tiny(value: number): string {
  return value === 0 ? '0' : value.toExponential(0).replace('-', '−')
}

/** A figure between 0 and 1, or a cosine: two decimals say all there is. */
export function hundredths(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2).replace('-', '−') : '–'
}

/** An effect with its sign and one decimal. */
export function signed(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const shown = value.toFixed(1)
  return Number(shown) === 0 ? '0.0' : shown.startsWith('-') ? shown.replace('-', '−') : `+${shown}`
}
