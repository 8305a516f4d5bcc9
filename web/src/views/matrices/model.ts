import { belowColour, heatColour, hex, type Theme } from '../../lib/colour'
import type { Action } from '../../lib/shared'
import type { View } from '../../lib/view'

/** A labelled table; `second` are values told beside. */
export interface Table {
  title: string
  rows: string[]
  columns: string[]
  values: Float32Array
  scale: 'plain' | 'ratio' | 'signed'
  centre: number
  /** Of each column. */
  decimals: number[]
  note: string
  second: Float32Array | null
  secondName: string
  /** What a click on a row asks for, and on a cell; null where there is nothing. */
  rowActions: (Action | null)[] | null
  cellActions: (Action | null)[][] | null
  /** What a click on a cell tells. */
  cellNotes: string[][] | null
  /** Cells that are written boldly; the subtitle says why. */
  marked?: boolean[][] | null
}

interface Described extends Omit<Table, 'values' | 'second' | 'secondName' | 'rowActions' | 'cellActions' | 'cellNotes'> {
  array: string
  second: string | null
  second_name: string
  row_actions?: (Action | null)[] | null
  cell_actions?: (Action | null)[][] | null
  cell_notes?: string[][] | null
}

export interface Tables {
  title: string
  subtitle: string
  tables: Table[]
  rowName: string
  columnName: string
  together: boolean
  notes: string[]
  /** What a model wrote behind each prompt: the whole prompt, its last words, and what is new. */
  written: { name: string; prompt: string; ending: string; new: string }[]
  /** What the first and the last colour stand for, the same in all tables of a scale; of ratios as log₂. */
  spans: Record<string, [number, number]>
}

export function readTables(view: View): Tables {
  const properties = view.properties as unknown as {
    title: string
    subtitle: string
    tables: Described[]
    row_name: string
    column_name: string
    together: boolean
    notes: string[]
    written?: Tables['written']
    spans: Record<string, [number, number]>
  }
  return {
    title: properties.title,
    subtitle: properties.subtitle,
    tables: properties.tables.map(({ array, second, second_name, row_actions, cell_actions, cell_notes, ...table }) => ({
      ...table,
      values: view.arrays[array].data as Float32Array,
      second: second ? (view.arrays[second].data as Float32Array) : null,
      secondName: second_name,
      rowActions: row_actions ?? null,
      cellActions: cell_actions ?? null,
      cellNotes: cell_notes ?? null,
    })),
    rowName: properties.row_name,
    columnName: properties.column_name,
    together: properties.together,
    notes: properties.notes,
    written: properties.written ?? [],
    spans: properties.spans,
  }
}

/** The share of the way to the last colour, −1 to 1 for ratios and signed values, 0 to 1 for plain ones; null without a value. */
export function shares(table: Table, [low, high]: [number, number]): (number | null)[] {
  if (table.scale === 'signed') return Array.from(table.values, (value) => (Number.isFinite(value) ? value / high : null))
  if (table.scale === 'plain') {
    return Array.from(table.values, (value) => (Number.isFinite(value) ? (value - low) / (high - low) : null))
  }
  const ratio = (value: number) => Math.min(4, Math.max(-4, Math.log2(Math.max(value, 1e-6) / table.centre)))
  return Array.from(table.values, (value) => (Number.isFinite(value) ? ratio(value) / high : null))
}

/** The colour of a share, and whether letters on it must be light. */
export function cellColour(share: number | null, theme: Theme): { fill: string; strong: boolean } {
  if (share === null) return { fill: 'transparent', strong: false }
  const strong = Math.abs(share) > 0.62
  return { fill: hex(share >= 0 ? heatColour(0.9 * share, theme) : belowColour(-0.9 * share, theme)), strong }
}

const STEPS = 9

/** What the colours of tables on one scale stand for: the values of both ends, and colours at even steps between them. */
export function keyOf(
  { scale, centre }: Table,
  [low, high]: [number, number],
  theme: Theme,
): { ends: [number, number]; colours: string[] } {
  const first = scale === 'plain' ? 0 : -1
  const colours = Array.from({ length: STEPS }, (_, i) => cellColour(first + ((1 - first) * i) / (STEPS - 1), theme).fill)
  if (scale === 'plain') return { ends: [low, high], colours }
  return { ends: scale === 'signed' ? [-high, high] : [centre / 2 ** high, centre * 2 ** high], colours }
}

/** A value with so many decimals; one that they cannot tell from 0 is 0. */
export function valueText(value: number, digits: number): string {
  if (!Number.isFinite(value)) return '–'
  return Math.abs(value) < 0.5 * 10 ** -digits ? '0' : value.toFixed(digits).replace('-', '−')
}
