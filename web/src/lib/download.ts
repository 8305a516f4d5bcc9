/** Hand the reader a file; nothing leaves the page. */
export function download(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** A file name made of a title: letters and digits of any script, joined by hyphens. */
export function fileName(title: string, suffix: string): string {
  const stem = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, 100)
    .replace(/^-+|-+$/g, '')
  return `${stem || 'langscape'}.${suffix}`
}

/** Rows as CSV (RFC 4180). Text that a spreadsheet would run as a command gets a leading apostrophe. */
export function csv(header: string[], rows: (string | number)[][]): string {
  return [header, ...rows].map((row) => row.map(cell).join(',') + '\r\n').join('')
}

function cell(value: string | number): string {
  if (typeof value === 'number') return Number.isNaN(value) ? '' : String(value)
  // As langscape/io/csvtext.py does it: readers of word lists take the apostrophe away again.
  const safe = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
