/** φ of a quantile-equidistant axis, linear between (knots, shares); both increase. Python's `quantile_scale` is the same. */
export interface QuantileScale {
  knots: Float64Array
  shares: Float64Array
}

/**
 * Puts the k + 1 quantiles 0, 1/k, … 1 of the values at equal distances. k of n or more gives the empirical
 * distribution function. Equal values share the middle of the places they would take; the ends stay at 0 and 1.
 */
export function quantileScale(values: Float32Array | Float64Array, k: number): QuantileScale {
  const sorted = Float64Array.from(values).sort()
  const n = sorted.length
  const intervals = k < n ? k : Math.max(n - 1, 1)
  const knots: number[] = []
  const shares: number[] = []
  for (let j = 0, first = 0; j <= intervals; j++) {
    const value = quantile(sorted, j / intervals)
    if (!knots.length || value > knots[knots.length - 1]) {
      first = j
      knots.push(value)
      shares.push(j / intervals)
    } else {
      shares[shares.length - 1] = (first + j) / 2 / intervals
    }
  }
  if (knots.length > 1) {
    shares[0] = 0
    shares[shares.length - 1] = 1
  } else shares[0] = 0.5
  return { knots: Float64Array.from(knots), shares: Float64Array.from(shares) }
}

/** The share of the axis at which a value stands; beyond the ends it is clamped. */
export function forward(scale: QuantileScale, value: number): number {
  return interpolate(scale.knots, scale.shares, value)
}

/** The value that stands at a share of the axis. */
export function inverse(scale: QuantileScale, share: number): number {
  return interpolate(scale.shares, scale.knots, share)
}

function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1)
  const low = Math.floor(at)
  const rest = at - low
  return rest > 0 ? sorted[low] + (sorted[low + 1] - sorted[low]) * rest : (sorted[low] ?? 0)
}

function interpolate(from: Float64Array, to: Float64Array, value: number): number {
  let low = 0
  let high = from.length - 1
  if (value <= from[low]) return to[low]
  if (value >= from[high]) return to[high]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (from[middle] <= value) low = middle
    else high = middle
  }
  return to[low] + ((to[high] - to[low]) * (value - from[low])) / (from[high] - from[low])
}
