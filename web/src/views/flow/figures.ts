import { formatNumber } from '../../lib/format'

/** Numbers that belong together, all with the decimals that the largest of them needs: so they can be added by eye. */
export function aligned(largest: number): (value: number) => string {
  const size = Math.abs(largest)
  if (!Number.isFinite(size) || size >= 1000) return formatNumber
  const digits = size >= 100 ? 1 : size >= 10 ? 2 : size >= 1e-3 || size === 0 ? 3 : Math.min(1 - Math.floor(Math.log10(size)), 12)
  return (value) => {
    const shown = value.toFixed(digits)
    // What rounds to nothing has no sign.
    return Number(shown) === 0 ? (0).toFixed(digits) : shown.replace('-', '−')
  }
}

/** A value without an exponent: one that is next to nothing is said to be less than a thousandth. */
export function plain(value: number): string {
  if (value === 0 || !(Math.abs(value) < 1e-3)) return formatNumber(value)
  return value > 0 ? '< 0.001' : '> −0.001'
}

/** A probability as a percentage, to two significant figures, with a tenth of a percent as the finest above 1 %. */
export function percent(share: number): string {
  const value = 100 * share
  if (!(value >= 0)) return '–'
  if (value > 0 && value < 0.01) return '< 0.01 %'
  return `${value >= 99.95 || value === 0 ? value.toFixed(0) : value >= 0.995 ? value.toFixed(1) : value.toFixed(2)} %`
}

/** Up to how many decimals two numbers that should be one agree. */
export function agreement(difference: number): string {
  const size = Math.abs(difference)
  if (!Number.isFinite(size)) return 'they cannot be compared'
  const digits = Math.floor(-Math.log10(2 * Math.max(size, 5e-13)))
  return digits > 0 ? `the same to ${digits} decimal${digits === 1 ? '' : 's'}` : `${formatNumber(size)} apart`
}

/** A sentence in which no line ends between a number and its sign. */
export function unbroken(text: string): string {
  return text.replaceAll(' %', '\u00a0%').replaceAll('< 0', '<\u00a00')
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
