/** How long a hint stays. */
const HINT = 1600

/**
 * Zooms by the wheel: on a page of its own always; within another page with Ctrl or ⌘ held, or once it was
 * clicked, until the pointer leaves, so that whoever scrolls past is not caught. Gives back what ends it.
 */
export function wheelZoom(element: HTMLElement, zoom: (factor: number, x: number, y: number) => void): () => void {
  const alone = !isEmbedded(element)
  let clicked = false
  let hint: HTMLElement | null = null
  let hidden: ReturnType<typeof setTimeout> | undefined

  function wheel(event: WheelEvent) {
    if (!alone && !clicked && !event.ctrlKey && !event.metaKey) return show()
    event.preventDefault()
    hide()
    const box = element.getBoundingClientRect()
    zoom(zoomFactor(event), event.clientX - box.left, event.clientY - box.top)
  }

  function show() {
    if (!hint) {
      hint = document.createElement('p')
      hint.className = 'wheel-hint'
      hint.setAttribute('role', 'status')
      element.append(hint)
    }
    hint.textContent = `${isApple() ? '⌘' : 'Ctrl'} + wheel zooms; after a click, the wheel alone`
    clearTimeout(hidden)
    hidden = setTimeout(hide, HINT)
  }

  function hide() {
    clearTimeout(hidden)
    hint?.remove()
    hint = null
  }

  const take = () => {
    clicked = true
    hide()
  }
  const leave = () => {
    clicked = false
    hide()
  }
  element.addEventListener('wheel', wheel, { passive: false })
  element.addEventListener('pointerdown', take)
  element.addEventListener('pointerleave', leave)
  return () => {
    hide()
    element.removeEventListener('wheel', wheel)
    element.removeEventListener('pointerdown', take)
    element.removeEventListener('pointerleave', leave)
  }
}

/** By how much one turn of the wheel zooms. */
export function zoomFactor({ deltaY, deltaMode, ctrlKey }: Pick<WheelEvent, 'deltaY' | 'deltaMode' | 'ctrlKey'>): number {
  const pixels = deltaY * (deltaMode === 1 ? 16 : deltaMode === 2 ? 400 : 1)
  // A pinch on a trackpad arrives as small steps with Ctrl; a wheel's steps are large.
  const pinched = ctrlKey && Math.abs(pixels) < 50
  return 2 ** (-Math.min(Math.max(pixels, -200), 200) * (pinched ? 0.01 : 0.003))
}

/** Whether a picture stands within a page that scrolls: in a notebook's cell, or in a frame. */
function isEmbedded(element: HTMLElement): boolean {
  return element.getRootNode() instanceof ShadowRoot || window.parent !== window
}

function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent)
}
