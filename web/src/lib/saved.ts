import { theme } from './theme.svelte'
import { ink } from './ink'

/** A drawn canvas as PNG, with a title and a line above it. */
export function savedCanvas(drawn: HTMLCanvasElement, title: string, line: string): Promise<Blob> {
  const density = drawn.width / Math.max(drawn.clientWidth, 1)
  const canvas = document.createElement('canvas')
  const head = 64 * density
  canvas.width = drawn.width + 24 * density
  canvas.height = drawn.height + head + 12 * density
  const { ground, ink: dark, soft } = ink(theme.current)
  const context = canvas.getContext('2d')!
  context.fillStyle = ground
  context.fillRect(0, 0, canvas.width, canvas.height)
  const font = getComputedStyle(document.body).fontFamily
  context.fillStyle = dark
  context.font = `600 ${17 * density}px ${font}`
  context.fillText(title, 16 * density, 28 * density)
  context.fillStyle = soft
  context.font = `${12 * density}px ${font}`
  context.fillText(line, 16 * density, 48 * density)
  context.drawImage(drawn, 12 * density, head)
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture is too large for this browser')))),
  )
}
