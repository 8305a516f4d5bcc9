/**
 * Hears keys for a whole view: on a page of its own wherever they are pressed; in a notebook's cell only those
 * pressed within it, so that neither other views nor the notebook's own keys are touched.
 */
export function hearKeys(element: HTMLElement, does: (event: KeyboardEvent) => void): { destroy(): void } {
  const root = element.getRootNode()
  const place: EventTarget = root instanceof ShadowRoot ? root : window
  const heard = (event: Event) => does(event as KeyboardEvent)
  place.addEventListener('keydown', heard)
  return { destroy: () => place.removeEventListener('keydown', heard) }
}
