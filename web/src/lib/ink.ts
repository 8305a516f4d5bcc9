import type { Theme } from './colour'

export interface Inks {
  ground: string
  raised: string
  ink: string
  soft: string
  line: string
  accent: string
}

/** The sheet's colours as canvases need them: a canvas may be drawn before its page, or its cell, stands anywhere. */
const INKS: Record<Theme, Inks> = {
  light: { ground: '#ffffff', raised: '#f7f8f9', ink: '#1b1d21', soft: '#5b626c', line: '#c9ced6', accent: '#2451c4' },
  dark: { ground: '#15171b', raised: '#1c1f24', ink: '#e9ebee', soft: '#a2a9b4', line: '#454b55', accent: '#8fb1ff' },
}

export function ink(theme: Theme): Inks {
  return INKS[theme]
}
