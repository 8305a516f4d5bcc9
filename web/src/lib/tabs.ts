import type { View } from './view'

/** What the tabs of a page say: their titles; where one title begins all the others, what each adds to it. */
export function tabNames(views: View[]): string[] {
  const titles = views.map(({ properties }, at) => String(properties['title'] ?? `View ${at + 1}`))
  const shortest = titles.reduce((a, b) => (b.length < a.length ? b : a), titles[0])
  const isShared = titles.length > 1 && titles.every((title) => title.startsWith(shortest) && !/^\w/.test(title.slice(shortest.length)))
  if (!isShared) return titles
  return titles.map((title, at) => {
    const rest = title.slice(shortest.length).replace(/^[\s:,·–—-]+/, '') || views[at].kind.replaceAll('_', ' ')
    return rest[0].toUpperCase() + rest.slice(1)
  })
}
