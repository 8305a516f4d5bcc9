import { escape } from './svg'

/** What a picture leaves out and closes up, as if it were not on the page. */
const LEFT_OUT = '[data-unsaved]'

/** A panel that stands beside a picture: it is saved from its first line on, and no further than the picture goes. */
const BESIDE = '[data-beside]'

/** What is in a picture as a whole or not at all, where that has an end. */
const WHOLE = '[data-whole], p, li, tr, dt, dd, dl > div, h2, h3, h4, figure, svg, canvas, :has(> svg), :has(> canvas)'

/** What is a title of what follows it. */
const HEADING = 'h2, h3, h4'

/** Pixels below the last that fits. */
const FOOT = 12

/** What a picture leaves out: what is there to be used and says nothing, and what shows only under the pointer. */
const UNSEEN = [
  'textarea, script, style, .unseen, .tip, .tools, .search, .mark[popovertarget], [popover], button.button',
  // a switch or choice that is on says how the picture is drawn
  'label:has(> input:is([type=checkbox], [type=radio]):not(:checked))',
].join(', ')

/** Pixels for a title above what has none on screen. */
const HEAD = 38

/** Elements that are painted by other means than the page's, and how each is written as SVG. */
const painted = new WeakMap<Element, () => string>()

/** Says how what is painted in an element is written as SVG, from its upper left corner. */
export function paintedAs(element: Element, draw: () => string): void {
  painted.set(element, draw)
}

/** Properties of SVG that the page's style sheets may set. */
const DRAWN = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-opacity',
  'stroke-dasharray',
  'stroke-linecap',
  'stroke-linejoin',
  'paint-order',
  'opacity',
  'font-size',
  'font-weight',
  'font-family',
  'text-anchor',
  'dominant-baseline',
]

/**
 * What stands on screen in an element, as an SVG that stands alone: grounds and borders as rectangles, text as text,
 * drawings as drawings, canvases as images. What is scrolled down on screen is in it from its first line to its last, but
 * of a panel beside a picture only what stands beside that. Without a title it is a part of another picture; most are the
 * pixels that it may be high, and what does not fit there is left out.
 */
export function snapshot(root: HTMLElement, title: string | null, most = Infinity): string {
  // before anything is hidden: a browser scrolls along with what is above
  const places = [root, ...root.querySelectorAll('*')]
    .filter((one) => one.scrollTop || one.scrollLeft)
    .map((one) => ({ one, top: one.scrollTop, left: one.scrollLeft }))
  const left = [...root.querySelectorAll<HTMLElement>(LEFT_OUT)].map((one) => [one, one.style.display] as const)
  for (const [one] of left) one.style.display = 'none'
  const close = unrolled(root)
  const hidden: HTMLElement[] = []
  try {
    for (const one of root.querySelectorAll<HTMLElement>(BESIDE)) {
      one.scrollTop = 0
      if (isCut(one)) hidden.push(...hideBelow(one, one.getBoundingClientRect().bottom))
    }
    const { top, bottom } = root.getBoundingClientRect()
    const foot = top + most - HEAD
    if (bottom <= foot) return drawn(root, title)
    hidden.push(...hideBelow(root, foot))
    return drawn(root, title, foot - top)
  } finally {
    for (const one of hidden) one.style.visibility = ''
    close()
    for (const [one, display] of left) one.style.display = display
    for (const { one, top, left } of places) [one.scrollTop, one.scrollLeft] = [top, left]
  }
}

/** Hides what ends below a line, whole lines and pictures at once, and titles that nothing follows then; says what. */
function hideBelow(root: HTMLElement, line: number): HTMLElement[] {
  const hidden: HTMLElement[] = []
  const hide = (one: HTMLElement) => {
    one.style.visibility = 'hidden'
    hidden.push(one)
  }
  /** Whether anything of an element is left. */
  const cut = (one: HTMLElement): boolean => {
    const { bottom, top, height } = one.getBoundingClientRect()
    if (!height || bottom <= line - FOOT) return height > 0
    const parts = top < line && !one.matches(WHOLE) ? ([...one.children] as HTMLElement[]) : []
    if (parts.map(cut).some(Boolean)) return true
    hide(one)
    return false
  }
  for (const one of [...root.children] as HTMLElement[]) cut(one)
  const isPart = (one: HTMLElement) => root.contains(one.parentElement!.closest(WHOLE))
  const shown = [...root.querySelectorAll<HTMLElement>(WHOLE)].filter(
    (one) => getComputedStyle(one).visibility !== 'hidden' && one.getBoundingClientRect().height > 0 && !isPart(one),
  )
  while (shown.at(-1)?.matches(HEADING)) hide(shown.pop()!)
  return hidden
}

/** Makes all that is scrolled as high as what it holds, until what it gives is called. What stands beside keeps its size. */
function unrolled(root: HTMLElement): () => void {
  const scrolled = [root, ...root.querySelectorAll<HTMLElement>('*')].filter((one) => isCut(one) && !one.closest(BESIDE))
  if (!scrolled.length) return () => undefined
  const growing = new Set<HTMLElement>([root])
  for (const one of scrolled) for (let at = one; at !== root; at = at.parentElement!) growing.add(at)
  const beside = [...growing].flatMap((one) => (one === root ? [] : ([...one.parentElement!.children] as HTMLElement[])))
  const all = [...new Set([...growing, ...beside])].filter((one) => one instanceof HTMLElement)
  const before = all.map((one) => {
    const { flexDirection, display } = getComputedStyle(one.parentElement!)
    const isStacked = display.endsWith('flex') && flexDirection.startsWith('column')
    return { one, style: one.getAttribute('style'), high: one.offsetHeight, isStacked }
  })
  // not as high as the row of the page that it stands in
  Object.assign(root.style, { width: `${root.offsetWidth}px`, alignSelf: 'start' })
  for (const { one, high, isStacked } of before) {
    if (growing.has(one)) Object.assign(one.style, { height: 'auto', minHeight: `${high}px`, maxHeight: 'none' })
    else if (getComputedStyle(one).display !== 'inline') one.style.height = `${high}px`
    if (isStacked) one.style.flex = 'none'
  }
  return () => {
    for (const { one, style } of before) {
      if (style === null) one.removeAttribute('style')
      else one.style.cssText = style
    }
  }
}

/** Whether some of what an element holds is scrolled out of sight, above or below. */
function isCut(one: HTMLElement): boolean {
  if (one.scrollHeight <= one.clientHeight + 1 || one.matches(UNSEEN)) return false
  return /auto|scroll/.test(getComputedStyle(one).overflowY)
}

function drawn(root: HTMLElement, title: string | null, most = Infinity): string {
  const box = root.getBoundingClientRect()
  // A view that stands beside another one may leave its title to that; its picture stands alone.
  const isTitled = title === null || [...root.querySelectorAll('h1')].some((one) => one.getBoundingClientRect().width > 1)
  const top = isTitled ? 0 : HEAD
  const style = getComputedStyle(document.body)
  const titleWidth = isTitled ? 0 : widthOf(title ?? '', `650 16px ${style.fontFamily}`) + 32
  const [width, height] = [Math.ceil(Math.max(box.width, titleWidth)), Math.ceil(Math.min(box.height, most)) + top]
  const picture = new Picture(box.left, box.top - top)
  const body = picture.element(root)
  const heading = isTitled ? '' : `<text x="16" y="28" font-size="16" font-weight="650" fill="${style.color}">${escape(title ?? '')}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escape(style.fontFamily)}">`,
    title === null ? '' : `<title>${escape(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="${opaque(style.backgroundColor) ? style.backgroundColor : 'white'}"/>`,
    `<defs>${picture.clips.join('')}</defs>`,
    heading,
    body,
    '</svg>',
  ].join('\n')
}

function widthOf(text: string, font: string): number {
  const pen = document.createElement('canvas').getContext('2d')!
  pen.font = font
  return pen.measureText(text).width
}

class Picture {
  readonly clips: string[] = []
  readonly #left: number
  readonly #top: number
  readonly #pen = document.createElement('canvas').getContext('2d')!

  constructor(left: number, top: number) {
    this.#left = left
    this.#top = top
  }

  element(element: Element): string {
    if (element.matches(UNSEEN)) return ''
    const style = getComputedStyle(element)
    if (style.display === 'none' || style.visibility === 'hidden' || style.opacity === '0') return ''
    const box = element.getBoundingClientRect()
    if (element instanceof SVGSVGElement) return this.#drawing(element, box)
    const parts = [style.display === 'contents' ? '' : this.#ground(style, box) + this.#outline(style, box)]
    if (style.display === 'list-item' && style.listStyleType === 'disc') parts.push(this.#bullet(style, box))
    const draw = painted.get(element)
    if (draw) parts.push(`<svg ${this.#place(box)}>${draw()}</svg>`)
    if (element instanceof HTMLInputElement) return element.value ? parts[0] + this.#field(element, style, box) : ''
    if (element instanceof HTMLSelectElement) return parts[0] + this.#line(element.selectedOptions[0]?.text ?? '', style, box)
    if (element instanceof HTMLCanvasElement) {
      const isPainted = element.parentElement !== null && painted.has(element.parentElement)
      return parts[0] + (isPainted ? '' : this.#image(element, box))
    }
    for (const child of element.childNodes) {
      if (child instanceof Element) parts.push(this.element(child))
      else if (child instanceof Text) parts.push(...this.#words(child, style))
    }
    const inside = parts.join('')
    if (!inside) return ''
    const isClipped = style.overflowX !== 'visible' || style.overflowY !== 'visible'
    const faint = Number(style.opacity) < 1 ? ` opacity="${style.opacity}"` : ''
    return isClipped || faint ? `<g${isClipped ? this.#clip(box) : ''}${faint}>${inside}</g>` : inside
  }

  #place({ left, top, width, height }: DOMRect): string {
    return `x="${number(left - this.#left)}" y="${number(top - this.#top)}" width="${number(width)}" height="${number(height)}"`
  }

  #clip(box: DOMRect): string {
    const id = `clip${this.clips.length}`
    this.clips.push(`<clipPath id="${id}"><rect ${this.#place(box)}/></clipPath>`)
    return ` clip-path="url(#${id})"`
  }

  #ground(style: CSSStyleDeclaration, box: DOMRect): string {
    const out: string[] = []
    const round = parseFloat(style.borderTopLeftRadius) || 0
    if (opaque(style.backgroundColor)) out.push(`<rect ${this.#place(box)} rx="${round}" fill="${style.backgroundColor}"/>`)
    const sides = (['Top', 'Right', 'Bottom', 'Left'] as const).map((side) => ({
      width: style[`border${side}Style`] === 'none' ? 0 : parseFloat(style[`border${side}Width`]),
      colour: style[`border${side}Color`],
    }))
    const [top, right, bottom, left] = sides
    if (sides.every(({ width, colour }) => width > 0 && opaque(colour) && colour === top.colour)) {
      const half = top.width / 2
      const inner = new DOMRect(box.left + half, box.top + half, Math.max(box.width - top.width, 0), Math.max(box.height - top.width, 0))
      out.push(`<rect ${this.#place(inner)} rx="${round}" fill="none" stroke="${top.colour}" stroke-width="${top.width}"/>`)
      return out.join('')
    }
    const bar = (one: { width: number; colour: string }, at: DOMRect) =>
      one.width > 0 && opaque(one.colour) && out.push(`<rect ${this.#place(at)} fill="${one.colour}"/>`)
    bar(top, new DOMRect(box.left, box.top, box.width, top.width))
    bar(bottom, new DOMRect(box.left, box.bottom - bottom.width, box.width, bottom.width))
    bar(left, new DOMRect(box.left, box.top, left.width, box.height))
    bar(right, new DOMRect(box.right - right.width, box.top, right.width, box.height))
    return out.join('')
  }

  /** What is chosen often wears an outline, which takes no room. */
  #outline(style: CSSStyleDeclaration, box: DOMRect): string {
    const isOutlined = style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) > 0
    // the same drawn as a shadow without blur or offset, outside or inside
    const shadow = /^(rgba?\([^)]*\)) 0px 0px 0px ([\d.]+)px( inset)?$/.exec(style.boxShadow)
    const [colour, wide] = isOutlined ? [style.outlineColor, parseFloat(style.outlineWidth)] : [shadow?.[1] ?? '', Number(shadow?.[2] ?? 0)]
    if (!wide || !opaque(colour)) return ''
    const off = isOutlined ? parseFloat(style.outlineOffset) + wide / 2 : (shadow?.[3] ? -wide : wide) / 2
    const around = new DOMRect(box.left - off, box.top - off, box.width + 2 * off, box.height + 2 * off)
    const round = (parseFloat(style.borderTopLeftRadius) || 0) + off
    return `<rect ${this.#place(around)} rx="${number(Math.max(round, 0))}" fill="none" stroke="${colour}" stroke-width="${wide}"/>`
  }

  /** The dot before an entry of a list, beside the middle of its first line. */
  #bullet(style: CSSStyleDeclaration, box: DOMRect): string {
    const size = parseFloat(style.fontSize)
    const line = parseFloat(style.lineHeight) || 1.2 * size
    const [x, y] = [box.left - this.#left - 0.75 * size, box.top - this.#top + parseFloat(style.paddingTop) + line / 2]
    return `<circle cx="${number(x)}" cy="${number(y)}" r="${number(0.18 * size)}" fill="${style.color}"/>`
  }

  /** What a field holds; a switch that is on wears a tick. */
  #field(input: HTMLInputElement, style: CSSStyleDeclaration, box: DOMRect): string {
    if (input.type !== 'checkbox') return this.#line(input.type === 'text' || input.type === 'number' ? input.value : '', style, box)
    const tick = `<path transform="translate(${number(box.left - this.#left)} ${number(box.top - this.#top)})" d="M3 7l3 3 5-6" fill="none" stroke="${style.color}" stroke-width="1.6"/>`
    return `<rect ${this.#place(box)} rx="2" fill="none" stroke="${style.color}" stroke-opacity=".5"/>${tick}`
  }

  /** One line of text in the middle of a box. */
  #line(text: string, style: CSSStyleDeclaration, box: DOMRect): string {
    if (!text) return ''
    const size = parseFloat(style.fontSize)
    const [x, y] = [box.left - this.#left + parseFloat(style.paddingLeft) + 2, box.top - this.#top + box.height / 2 + size * 0.36]
    return `<text x="${number(x)}" y="${number(y)}" font-size="${size}" fill="${style.color}">${escape(text)}</text>`
  }

  #image(canvas: HTMLCanvasElement, box: DOMRect): string {
    if (!canvas.width || !canvas.height) return ''
    return `<image ${this.#place(box)} preserveAspectRatio="none" href='${canvas.toDataURL('image/png')}'/>`
  }

  /** Text line by line, where it stands; what is set in capitals by the style is so here too. */
  #words(node: Text, style: CSSStyleDeclaration): string[] {
    const text = node.data
    if (!text.trim()) return []
    const lines: { text: string; box: DOMRect }[] = []
    const range = document.createRange()
    for (const { 0: word, index } of text.matchAll(/[^\s-]*-?\s*/g)) {
      // Lines break at hyphens too.
      if (!word.trim()) continue
      range.setStart(node, index)
      range.setEnd(node, index + word.trimEnd().length)
      const box = range.getBoundingClientRect()
      if (!box.width) continue
      const last = lines[lines.length - 1]
      if (last && Math.abs(last.box.top - box.top) < 2) last.text += word
      else lines.push({ text: word, box })
    }
    this.#pen.font = style.font
    const { fontBoundingBoxDescent: descent } = this.#pen.measureText('x')
    const look = `font-size="${parseFloat(style.fontSize)}" font-weight="${style.fontWeight}"${style.fontStyle === 'normal' ? '' : ' font-style="italic"'} fill="${style.color}"`
    if (style.writingMode.startsWith('vertical'))
      // Set upright in tables, to be read from below.
      return lines.slice(0, 1).map(({ box }) => {
        const foot = node.parentElement!.getBoundingClientRect().bottom - this.#top
        return `<text transform="translate(${number(box.right - this.#left - descent)} ${number(foot)}) rotate(-90)" ${look}>${escape(text.trim())}</text>`
      })
    return lines.map(({ text, box }) => {
      const [x, y] = [box.left - this.#left, box.bottom - this.#top - descent]
      const kept = style.whiteSpace.startsWith('pre') ? text : text.replaceAll(/\s+/g, ' ')
      return `<text x="${number(x)}" y="${number(y)}" ${look} xml:space="preserve">${escape(kept.trimEnd())}</text>`
    })
  }

  /** A drawing with what style sheets say of its parts written into them. */
  #drawing(source: SVGSVGElement, box: DOMRect): string {
    const copy = source.cloneNode(true) as SVGSVGElement
    const [from, to] = [source, copy].map((one) => [one, ...one.querySelectorAll('*')])
    from.forEach((one, i) => {
      const style = getComputedStyle(one)
      // A browser writes url("#ramp"), which `together` could not tell from other text.
      for (const name of DRAWN) to[i].setAttribute(name, style.getPropertyValue(name).replaceAll(/url\("(#[^"]+)"\)/g, 'url($1)'))
      to[i].removeAttribute('class')
      to[i].removeAttribute('style')
    })
    const seen = { x: box.left - this.#left, y: box.top - this.#top, width: box.width, height: box.height }
    for (const [name, value] of Object.entries(seen)) copy.setAttribute(name, number(value))
    copy.setAttribute('overflow', getComputedStyle(source).overflow === 'visible' ? 'visible' : 'hidden')
    return new XMLSerializer().serializeToString(copy)
  }
}

const number = (value: number) => String(Math.round(value * 100) / 100)

function opaque(colour: string): boolean {
  return colour !== 'transparent' && !/^rgba\(.*, 0\)$/.test(colour)
}

/** The width and height that a picture says of itself. */
export function sizeOf(picture: string): [number, number] {
  const [wide, high] = ['width', 'height'].map((name) => Number(picture.match(new RegExp(`<svg[^>]* ${name}="([\\d.]+)"`))?.[1]))
  return [wide, high]
}

/** A picture at a place within another; its ids get a name of their own, or the second would be clipped as the first. */
export function placed(picture: string, x: number, y: number, name: string): string {
  return picture.replaceAll(/(\sid="|url\(#|href=["]#)(?=[\w-]+)/g, `$1${name}-`).replace(/<svg /, `<svg x="${x}" y="${y}" `)
}

/** Several pictures beside each other as one, each under its own title and in its own size. */
export function together(pictures: string[], paper: { ground: string }): string {
  const gap = 16
  // as they stand in the pictures, where they are escaped already
  const title = [...new Set(pictures.map((one) => one.match(/<title>(.*?)<\/title>/s)?.[1] ?? '').filter(Boolean))].join(' and ')
  const sizes = pictures.map(sizeOf)
  const width = sizes.reduce((sum, [wide]) => sum + wide + gap, gap)
  const height = gap + Math.max(...sizes.map(([, high]) => high)) + gap
  let x = gap
  const beside = pictures.map((one, at) => {
    const inner = placed(one, x, gap, `p${at}`)
    x += sizes[at][0] + gap
    return inner
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title>${title}</title><rect width="${width}" height="${height}" fill="${paper.ground}"/>`,
    ...beside,
    '</svg>',
  ].join('\n')
}
