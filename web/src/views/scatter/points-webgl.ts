import { rgb } from '../../lib/colour'
import type { Frame, PointLayer } from './layer'
import { GAP, REACH } from './shapes'
import type { Style } from './style'

const VERTEX = `#version 300 es
layout(location=0) in vec2 place;
layout(location=1) in vec4 colour;
layout(location=2) in float size;
layout(location=3) in vec2 look; // shape, ring
uniform vec3 camera; // x, y, device pixels per unit
uniform vec2 half_size;
uniform float radius;
uniform float edge;
uniform float density;
out vec4 fill;
flat out vec3 form; // shape, ring, radius
flat out float extent;
void main() {
  float r = radius * size;
  fill = colour;
  form = vec3(look, r);
  extent = r * ${REACH.toFixed(2)} + edge + (look.y > 0.0 ? 3.5 * density : 1.0);
  gl_Position = vec4((place - camera.xy) * camera.z / half_size, 0.0, 1.0);
  gl_PointSize = 2.0 * extent;
}`

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 fill;
flat in vec3 form;
flat in float extent;
uniform vec3 ground;
uniform vec3 ink;
uniform float edge;
uniform float density;
out vec4 result;
float shape_distance(vec2 p, float r) {
  vec2 q = abs(p);
  if (form.x < 0.5) return length(p) - r;
  if (form.x < 1.5) return max(q.x * 0.866 - p.y * 0.5, p.y) - 0.777 * r;
  if (form.x < 2.5) return (q.x + q.y) * 0.7071 - 0.886 * r;
  return max(q.x, q.y) - 0.886 * r;
}
void main() {
  vec2 p = (gl_PointCoord * 2.0 - 1.0) * extent;
  float d = shape_distance(p, form.z);
  float inner = clamp(0.5 - d, 0.0, 1.0) * fill.a;
  float outer = edge > 0.0 ? clamp(0.5 - d + edge, 0.0, 1.0) * fill.a : 0.0;
  vec4 mixed = vec4(ground, 1.0) * outer;
  mixed = vec4(fill.rgb, 1.0) * inner + mixed * (1.0 - inner);
  if (form.y > 0.0) {
    float away = abs(length(p) - form.z - edge - 1.6 * density) - 0.65 * density;
    float ring = clamp(0.5 - away, 0.0, 1.0) * max(fill.a, 0.35);
    // a ring of dashes
    if (form.y > 1.5 && ${GAP}) ring = 0.0;
    mixed = vec4(ink, 1.0) * ring + mixed * (1.0 - ring);
  }
  result = mixed;
}`

/** Points as WebGL2 sprites; the shapes are cut out in the fragment shader, so edges stay smooth at any zoom. */
export class WebglPoints implements PointLayer {
  readonly kind = 'webgl'
  readonly canvas: HTMLCanvasElement
  readonly #gl: WebGL2RenderingContext
  readonly #program: WebGLProgram
  readonly #buffers: Record<'place' | 'colour' | 'size' | 'look' | 'order', WebGLBuffer>
  #drawn = 0

  /** A layer, or null where there is no WebGL2 on a graphics card. */
  static open(lost: () => void): WebglPoints | null {
    const canvas = document.createElement('canvas')
    const gl = canvas.getContext('webgl2', { antialias: false, alpha: true, premultipliedAlpha: true })
    if (!gl || isSoftware(gl)) return null
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault()
      lost()
    })
    return new WebglPoints(canvas, gl)
  }

  private constructor(canvas: HTMLCanvasElement, gl: WebGL2RenderingContext) {
    this.canvas = canvas
    this.#gl = gl
    this.#program = link(gl)
    const buffer = () => gl.createBuffer()!
    this.#buffers = { place: buffer(), colour: buffer(), size: buffer(), look: buffer(), order: buffer() }
    gl.useProgram(this.#program)
    this.#attribute('place', 0, 2, gl.FLOAT, false)
    this.#attribute('colour', 1, 4, gl.UNSIGNED_BYTE, true)
    this.#attribute('size', 2, 1, gl.FLOAT, false)
    this.#attribute('look', 3, 2, gl.UNSIGNED_BYTE, false)
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#buffers.order)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    gl.clearColor(0, 0, 0, 0)
  }

  place(plane: Float32Array): void {
    this.#upload('place', plane)
  }

  dress(style: Style, rings: Uint8Array | null): void {
    const look = new Uint8Array(style.shapes.length * 2)
    style.shapes.forEach((shape, i) => {
      look[2 * i] = shape
      look[2 * i + 1] = rings?.[i] ?? 0
    })
    this.#upload('colour', style.colours)
    this.#upload('size', style.sizes)
    this.#upload('look', look)
    const gl = this.#gl
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, style.order, gl.DYNAMIC_DRAW)
    this.#drawn = style.order.length
  }

  draw(frame: Frame): void {
    const gl = this.#gl
    const { density, camera } = frame
    const uniform = (name: string) => gl.getUniformLocation(this.#program, name)
    const unit = (hex: string) => rgb(hex).map((channel) => channel / 255)
    gl.viewport(0, 0, this.canvas.width, this.canvas.height)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.uniform3f(uniform('camera'), camera.x, camera.y, camera.scale * density)
    gl.uniform2f(uniform('half_size'), (frame.size.width * density) / 2, (frame.size.height * density) / 2)
    gl.uniform1f(uniform('radius'), frame.radius * density)
    gl.uniform1f(uniform('edge'), frame.edge * density)
    gl.uniform1f(uniform('density'), density)
    gl.uniform3fv(uniform('ground'), unit(frame.ground))
    gl.uniform3fv(uniform('ink'), unit(frame.ink))
    if (this.#drawn) gl.drawElements(gl.POINTS, this.#drawn, gl.UNSIGNED_INT, 0)
  }

  destroy(): void {
    for (const buffer of Object.values(this.#buffers)) this.#gl.deleteBuffer(buffer)
    this.#gl.deleteProgram(this.#program)
  }

  #attribute(name: 'place' | 'colour' | 'size' | 'look', at: number, parts: number, type: number, share: boolean): void {
    const gl = this.#gl
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers[name])
    gl.enableVertexAttribArray(at)
    gl.vertexAttribPointer(at, parts, type, share, 0, 0)
  }

  #upload(name: 'place' | 'colour' | 'size' | 'look', data: Float32Array | Uint8Array): void {
    const gl = this.#gl
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers[name])
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW)
  }
}

function isSoftware(gl: WebGL2RenderingContext): boolean {
  const info = gl.getExtension('WEBGL_debug_renderer_info')
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER))
  return /swiftshader|llvmpipe|software|basic render/i.test(name)
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram()!
  for (const [type, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(type)!
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.linkProgram(program)
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(`the point shader does not link: ${gl.getProgramInfoLog(program)}`)
  return program
}
