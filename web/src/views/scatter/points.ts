import type { PointLayer } from './layer'
import { CanvasPoints } from './points-canvas'
import { WebglPoints } from './points-webgl'

/** WebGL where a graphics card does it; painted pixels where WebGL would be done in software, or not at all. */
export function pointLayer(lost: () => void): PointLayer {
  return WebglPoints.open(lost) ?? new CanvasPoints()
}
