import { computed, signal } from '@preact/signals'
import { base } from './api.ts'

interface Route {
  /** `['purchases', 'purchase_01…']` for `/console/purchases/purchase_01…`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

const read = (): Route => {
  const { pathname, search } = location
  const rest = pathname.startsWith(base) ? pathname.slice(base.length) : ''
  return {
    path: rest.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

/** A part of the address; as it is if its escapes are none, so that its view says that it finds nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const route = signal(read())
export const view = computed(() => route.value.path[0] ?? 'now')
addEventListener('popstate', () => {
  route.value = read()
})

/** The address of a view: `href('purchases', id)`. The first view has no slash at its end. */
export const href = (...path: readonly string[]): string =>
  (base + path.map(encodeURIComponent).join('/')).replace(/\/$/, '')

export function go(address: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', address)
  route.value = read()
  if (!replace) document.querySelector('main')?.scrollTo(0, 0)
}

/** Changes parts of the query; an empty value goes. */
export function setQuery(
  change: Readonly<Record<string, string | undefined>>,
  options = { replace: true },
): void {
  const next = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (value) next.set(name, value)
    else next.delete(name)
  }
  go(`${location.pathname}${next.size > 0 ? `?${next}` : ''}`, options)
}

/** A link inside the console opens without a new page; with a modifier the browser does what it always does. */
export function followLinks(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
  if (!link || !isPlain || link.target || link.origin !== location.origin) return
  if (!link.pathname.startsWith(base) && `${link.pathname}/` !== base) return
  event.preventDefault()
  go(link.href)
}
