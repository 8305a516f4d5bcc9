import { rgb, type Rgb } from '../../lib/colour'
import type { Frame, PointLayer } from './layer'
import { REACH, shapeDistance } from './shapes'
import type { Style } from './style'

/** Sub-pixel steps of a stamp's place, so that slow panning does not jump. */
const STEPS = 4

/** How much of each pixel a mark covers, 0…255, in a square of `side` pixels. */
interface Stamp {
  side: number
  cover: Uint8Array
}

/** Points painted pixel by pixel into one image: faster than WebGL that runs without a graphics card. */
export class CanvasPoints implements PointLayer {
  readonly kind = 'canvas'
  readonly canvas = document.createElement('canvas')
  readonly #context = this.canvas.getContext('2d', { alpha: false })
  #image: ImageData | null = null
  #plane: Float32Array = new Float32Array()
  #style: Style | null = null
  #rings: Uint8Array | null = null
  #stamps = new Map<number, Stamp>()

  place(plane: Float32Array): void {
    this.#plane = plane
  }

  dress(style: Style, rings: Uint8Array | null): void {
    this.#style = style
    this.#rings = rings
  }

  draw(frame: Frame): void {
    const { width, height } = this.canvas
    if (!this.#context || !this.#style || !width || !height) return
    if (this.#image?.width !== width || this.#image.height !== height)
      this.#image = this.#context.createImageData(width, height)
    const ground = rgb(frame.ground)
    new Uint32Array(this.#image.data.buffer).fill(pixel(ground))
    this.#paint(this.#image, this.#style, frame, ground)
    this.#context.putImageData(this.#image, 0, 0)
  }

  destroy(): void {
    this.#image = null
    this.#stamps.clear()
  }

  #paint(image: ImageData, style: Style, frame: Frame, ground: Rgb): void {
    const { density, camera } = frame
    const scale = camera.scale * density
    const offsetX = image.width / 2 - camera.x * scale
    const offsetY = image.height / 2 + camera.y * scale
    const ink = rgb(frame.ink)
    const edge = frame.edge * density
    // Stamps of other zooms are of no use any more; a zoom makes a few dozen.
    if (this.#stamps.size > 2000) this.#stamps.clear()
    for (const row of style.order) {
      const x = this.#plane[2 * row] * scale + offsetX
      const y = offsetY - this.#plane[2 * row + 1] * scale
      if (!(x > -30 && y > -30 && x < image.width + 30 && y < image.height + 30)) continue
      const radius = Math.max(frame.radius * density * style.sizes[row], 0.4)
      const shape = style.shapes[row]
      const at = 4 * row
      const alpha = style.colours[at + 3]
      const fill: Rgb = [style.colours[at], style.colours[at + 1], style.colours[at + 2]]
      if (edge) this.#press(image, x, y, shape, radius + edge, 0, ground, alpha)
      this.#press(image, x, y, shape, radius, 0, fill, alpha)
      if (this.#rings?.[row])
        this.#press(image, x, y, 0, radius + edge + 1.6 * density, 0.65 * density, ink, Math.max(alpha, 90))
    }
  }

  /** Blends one stamp over the opaque image; `line` is half the width of a ring, 0 for a filled shape. */
  #press(image: ImageData, x: number, y: number, shape: number, radius: number, line: number, colour: Rgb, alpha: number) {
    const data = image.data
    const left = Math.floor(x)
    const top = Math.floor(y)
    const stamp = this.#stamp(shape, radius, line, Math.floor((x - left) * STEPS), Math.floor((y - top) * STEPS))
    const { side, cover } = stamp
    const half = (side - 1) / 2
    const [red, green, blue] = colour
    for (let v = 0; v < side; v++) {
      const py = top + v - half
      if (py < 0 || py >= image.height) continue
      for (let u = 0; u < side; u++) {
        const px = left + u - half
        const covered = cover[v * side + u]
        if (!covered || px < 0 || px >= image.width) continue
        const share = (covered * alpha) / 65025
        const at = 4 * (py * image.width + px)
        data[at] += (red - data[at]) * share
        data[at + 1] += (green - data[at + 1]) * share
        data[at + 2] += (blue - data[at + 2]) * share
      }
    }
  }

  #stamp(shape: number, radius: number, line: number, stepX: number, stepY: number): Stamp {
    const size = Math.round(radius * 4)
    const key = ((size * 64 + Math.round(line * 4)) * 4 + shape) * 16 + stepX * STEPS + stepY
    let stamp = this.#stamps.get(key)
    if (stamp) return stamp
    const r = size / 4
    const half = Math.ceil(r * (shape ? REACH : 1) + line + 1)
    const side = 2 * half + 1
    const cover = new Uint8Array(side * side)
    for (let v = 0; v < side; v++)
      for (let u = 0; u < side; u++) {
        // The middle of pixel (0, 0) lies half a pixel right of and below its corner.
        const away = shapeDistance(shape, u - half + 0.5 - (stepX + 0.5) / STEPS, v - half + 0.5 - (stepY + 0.5) / STEPS, r)
        cover[v * side + u] = 255 * Math.min(Math.max(0.5 - (line ? Math.abs(away) - line : away), 0), 1)
      }
    stamp = { side, cover }
    this.#stamps.set(key, stamp)
    return stamp
  }
}

function pixel(colour: Rgb): number {
  // Canvas bytes are R, G, B, A in memory, and every browser's processor is little-endian.
  return ((255 << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0
}
