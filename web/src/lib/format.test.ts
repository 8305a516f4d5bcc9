import { expect, it } from 'vitest'

import { csv, fileName } from './download'
import { formatCount, formatNumber, ordinal } from './format'

it.each([
  [0, '0'],
  [1234567, '1,234,567'],
  [-42, '−42'],
  [0.6941, '0.694'],
  [53.149, '53.15'],
  [123.456, '123.5'],
  [3100.4, '3,100'],
  [0.0000123, '1.23e−5'],
  [-0.0000123, '−1.23e−5'],
  [NaN, '–'],
  [-Infinity, '−∞'],
])('%d is shown as %s', (value, shown) => {
  expect(formatNumber(value)).toBe(shown)
})

it('counts are grouped by threes', () => {
  expect(formatCount(100000)).toBe('100,000')
  expect(formatCount(999)).toBe('999')
})

it('places are counted as people do', () => {
  expect([1, 2, 3, 4, 11, 12, 13, 21, 111, 1002].map(ordinal)).toEqual([
    '1st',
    '2nd',
    '3rd',
    '4th',
    '11th',
    '12th',
    '13th',
    '21st',
    '111th',
    '1,002nd',
  ])
})

it('CSV quotes what it must and leaves empty what is not a number', () => {
  expect(
    csv(
      ['label', 'x'],
      [
        ['a "b", c', 1.5],
        ['line\nbreak', NaN],
      ],
    ),
  ).toBe('label,x\r\n"a ""b"", c",1.5\r\n"line\nbreak",\r\n')
})

it('CSV disarms what a spreadsheet would run, and leaves tokens as they are', () => {
  expect(csv(['l'], [['=HYPERLINK("http://x","y")']])).toContain(`'=HYPERLINK`)
  expect(csv(['l'], [["=cmd|' /C calc'!A0"]])).toContain(`'=cmd`)
  expect(csv(['l'], [['-ing'], ['='], ['@'], ["'="], ["'tis"], [-0.5]])).toBe("l\r\n'-ing\r\n'=\r\n'@\r\n''=\r\n'tis\r\n-0.5\r\n")
})

it('file names keep letters of any script and nothing else', () => {
  expect(fileName('600 words / Ærø!', 'png')).toBe('600-words-ærø.png')
  expect(fileName('../..', 'svg')).toBe('langscape.svg')
  // a text that was typed is called by its first words in quotation marks
  expect(fileName('Map MiniLM-L6 “The old harbour …” 3.9', 'svg')).toBe('map-minilm-l6-the-old-harbour-3-9.svg')
  expect(fileName(`${'a'.repeat(99)} b`, 'svg')).toBe(`${'a'.repeat(99)}.svg`)
})
