/** Which part of the plane is on screen: the world point at the middle, and pixels per world unit. */
export interface Camera {
  x: number
  y: number
  scale: number
}

export interface Size {
  width: number
  height: number
}

export interface Box {
  left: number
  right: number
  bottom: number
  top: number
}

/** World y grows upward, screen y downward. */
export function toScreen(camera: Camera, size: Size, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.scale + size.width / 2, size.height / 2 - (y - camera.y) * camera.scale]
}

export function toWorld(camera: Camera, size: Size, x: number, y: number): [number, number] {
  return [(x - size.width / 2) / camera.scale + camera.x, (size.height / 2 - y) / camera.scale + camera.y]
}

/** The camera that shows the box with a margin; a box without extent is shown in the middle. */
export function fit(box: Box, size: Size, margin = 40): Camera {
  const width = Math.max(size.width - 2 * margin, 1)
  const height = Math.max(size.height - 2 * margin, 1)
  const scale = Math.min(width / (box.right - box.left), height / (box.top - box.bottom))
  return {
    x: (box.left + box.right) / 2,
    y: (box.bottom + box.top) / 2,
    scale: Number.isFinite(scale) && scale > 0 ? scale : 1,
  }
}

/** Zoom by a factor with the world point under (x, y) staying under it. */
export function zoomAt(camera: Camera, size: Size, x: number, y: number, factor: number, limits: [number, number]): Camera {
  const scale = Math.min(Math.max(camera.scale * factor, limits[0]), limits[1])
  const [worldX, worldY] = toWorld(camera, size, x, y)
  return {
    x: worldX - (x - size.width / 2) / scale,
    y: worldY - (size.height / 2 - y) / scale,
    scale,
  }
}

export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y + dy / camera.scale }
}

/** The smallest box around the points; the box of no points is one unit around the origin. */
export function bounds(plane: Float32Array): Box {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity }
  for (let i = 0; i < plane.length; i += 2) {
    if (plane[i] < box.left) box.left = plane[i]
    if (plane[i] > box.right) box.right = plane[i]
    if (plane[i + 1] < box.bottom) box.bottom = plane[i + 1]
    if (plane[i + 1] > box.top) box.top = plane[i + 1]
  }
  return box.left > box.right ? { left: -0.5, right: 0.5, bottom: -0.5, top: 0.5 } : box
}

/** The smallest box around two. */
export function around(a: Box, b: Box): Box {
  return {
    left: Math.min(a.left, b.left),
    right: Math.max(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
    top: Math.max(a.top, b.top),
  }
}
