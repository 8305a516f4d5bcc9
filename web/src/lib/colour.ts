/** The colours of every picture. `views/colours.py` holds the same light ones; a test compares them. */

/**
 * Eight colours chosen so that the closest two stay 0.13 apart in OKLab under full protanopia and
 * deuteranopia as well (Okabe–Ito's closest pair: 0.07), one set per background: the same hues, within 5°.
 */
export const CATEGORIES = {
  light: ['#315ed7', '#e35c00', '#23d0cf', '#860d76', '#e0ae04', '#48540a', '#9d86fd', '#9a6489'],
  dark: ['#3b6ef7', '#ff7627', '#39e5e3', '#a83a9b', '#fbc732', '#636c35', '#a799ff', '#b47e9d'],
} as const

/** Even steps of OKLab lightness; more is darker on light ground and brighter on dark ground. */
export const RAMP = {
  light: ['#e5d67f', '#aecc77', '#6ebe80', '#1eac90', '#0d9298', '#047898', '#035b9e', '#29408c', '#322474'],
  dark: ['#635ab5', '#5472c8', '#3a8ad5', '#31a3c9', '#35b9c0', '#5bcbb0', '#8ed99e', '#c0e293', '#efe991'],
} as const

/** Columns that say an order and no amount: what comes first has the same hue on both grounds. */
const ORDERS: readonly string[] = ['position']
const ORDER_ON_DARK = [...RAMP.dark].reverse()

/** The colours of a column of numbers, from its least to its largest. */
export function rampOf(column: string, theme: Theme): readonly string[] {
  return theme === 'dark' && ORDERS.includes(column) ? ORDER_ON_DARK : RAMP[theme]
}

/** For weights: from the ground up, so that a weight of nothing is not seen. */
export const HEAT = {
  light: ['#ffffff', '#dfe9fb', '#b3cbf5', '#7ea6ec', '#4b7edd', '#2b59bd', '#1a3a8a', '#0f2257'],
  dark: ['#15171b', '#1b2745', '#223d73', '#2c59a6', '#447bd3', '#7aa6ee', '#b4cff8', '#eef4ff'],
} as const

/** What is below 0 beside what is above it: from the ground down, to as strong an end. */
export const BELOW = {
  light: ['#ffffff', '#fce6d4', '#f6c9a8', '#ee9a5c', '#e0701f', '#b85206', '#853803', '#522002'],
  dark: ['#15171b', '#35210f', '#5e3711', '#8f5313', '#c17420', '#ee9a45', '#f9c690', '#fff3e6'],
} as const

/** How many of the colours are used where both stand side by side: the last ones are nearly white or nearly black in both. */
export const SIDES = 6

/** How far a map can be read, the best first, and the colour of each verdict; others are grey. */
export const VERDICTS = {
  light: { good: '#047898', partly: '#c07f00', 'not to be read': '#c2332b', 'evenly spread': '#9aa0a8' },
  dark: { good: '#4bbda2', partly: '#f0b94a', 'not to be read': '#ff7b6b', 'evenly spread': '#7d838c' },
} as const

/** The colour of a verdict. */
export function verdictColour(verdict: string, theme: Theme): string {
  return (VERDICTS[theme] as Record<string, string>)[verdict] ?? NEUTRAL[theme]
}

/** For points without a value, and for categories beyond the last one that has its own mark. */
export const NEUTRAL = { light: '#9aa0a8', dark: '#7d838c' } as const

/** What stands in a legend for items without a value. */
export const NO_VALUE_TEXT = '(none)'

/** After eight categories the colours come again with the next shape; a small triangle is least like a circle. */
export const SHAPES = ['circle', 'triangle', 'diamond', 'square'] as const
export const DISTINCT = CATEGORIES.light.length * SHAPES.length

export type Theme = 'light' | 'dark'
export type Rgb = readonly [number, number, number]

/** The mark of the category of this rank: its colour, and its shape's place in SHAPES. */
export function categoryMark(rank: number, theme: Theme): { colour: string; shape: number } {
  if (rank < 0 || rank >= DISTINCT) return { colour: NEUTRAL[theme], shape: 0 }
  const colours = CATEGORIES[theme]
  return { colour: colours[rank % colours.length], shape: Math.floor(rank / colours.length) }
}

/** The ramp's colour at a share from 0 to 1, linear between its stops; of a column that is an order, its own. */
export function rampColour(share: number, theme: Theme, column = ''): Rgb {
  return between(rampOf(column, theme) === RAMP[theme] ? RAMP_RGB[theme] : ORDER_RGB, share)
}

/** The colour of a weight that is this share of the largest. */
export function heatColour(share: number, theme: Theme): Rgb {
  return between(HEAT_RGB[theme], share)
}

/** The colour of a value below 0 that is this share of the largest. */
export function belowColour(share: number, theme: Theme): Rgb {
  return between(BELOW_RGB[theme], share)
}

function between(stops: Rgb[], share: number): Rgb {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1)
  const low = Math.min(Math.floor(at), stops.length - 2)
  const rest = at - low
  return [0, 1, 2].map((c) => Math.round(stops[low][c] * (1 - rest) + stops[low + 1][c] * rest)) as unknown as Rgb
}

/** Of #rrggbb or #rgb, to which sheets are shortened when built. */
export function rgb(hex: string): Rgb {
  const digits = hex.length === 4 ? hex.slice(1).replace(/./g, '$&$&') : hex.slice(1)
  const number = parseInt(digits, 16)
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255]
}

export function hex(colour: Rgb): string {
  return '#' + colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')
}

const RAMP_RGB: Record<Theme, Rgb[]> = { light: RAMP.light.map(rgb), dark: RAMP.dark.map(rgb) }
const ORDER_RGB: Rgb[] = ORDER_ON_DARK.map(rgb)
const HEAT_RGB: Record<Theme, Rgb[]> = { light: HEAT.light.map(rgb), dark: HEAT.dark.map(rgb) }
const BELOW_RGB: Record<Theme, Rgb[]> = { light: BELOW.light.map(rgb), dark: BELOW.dark.map(rgb) }
