import { go, href } from './route.ts'
import { isThere, type ViewName } from './sections.ts'

const places: Readonly<Record<string, ViewName>> = {
  n: 'now',
  m: 'modules',
  p: 'purchases',
  c: 'carts',
  o: 'products',
  e: 'events',
  w: 'webhooks',
  j: 'jobs',
  a: 'audit',
}

/** @returns a function that stops it */
export function watchKeys(showKeys: () => void): () => void {
  let isGoing = false
  const press = (event: KeyboardEvent) => {
    const { target, key } = event
    const isTyping =
      target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
    if (isTyping || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]'))
      return
    if (isGoing) {
      isGoing = false
      const name = places[key]
      if (name && isThere(name)) go(name === 'now' ? href() : href(name))
      return
    }
    if (key === 'g') isGoing = true
    else if (key === '?') showKeys()
    else if (key === 'j') move(1)
    else if (key === 'k') move(-1)
    else if (key === '/') document.querySelector<HTMLInputElement>('[data-find]')?.focus()
    else if (key === 'Escape') document.querySelector<HTMLAnchorElement>('[data-close]')?.click()
    else return
    event.preventDefault()
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}

function move(by: number): void {
  const rows = Array.from(document.querySelectorAll<HTMLAnchorElement>('.rows a.open'))
  const present = rows.indexOf(document.activeElement as HTMLAnchorElement)
  rows[present === -1 ? (by > 0 ? 0 : rows.length - 1) : present + by]?.focus()
}
