import type { Camera, Size } from './camera'
import type { Style } from './style'

/** What a layer of points is told for one frame. */
export interface Frame {
  camera: Camera
  size: Size
  /** Device pixels per CSS pixel. */
  density: number
  /** Common radius, width of the gap around each point, both in CSS pixels. */
  radius: number
  edge: number
  ground: string
  ink: string
  /** How many of the points in view are drawn at most: an even sample of them where there are more. */
  most: number
}

/** Draws points on its own canvas. */
export interface PointLayer {
  readonly canvas: HTMLCanvasElement
  readonly kind: 'webgl' | 'canvas'
  place(plane: Float32Array): void
  dress(style: Style, rings: Uint8Array | null): void
  draw(frame: Frame): void
  /** Has ready what a style in which most points are alike would show, so that the first of them waits for nothing. */
  prepare?(style: Style, frame: Frame): void
  destroy(): void
}
