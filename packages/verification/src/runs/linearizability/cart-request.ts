import type { Asked } from '../../harness/ask.ts'
import type { CartInput, CartOutput, Line, Seen } from './cart-model.ts'

type Request = Pick<Asked, 'method' | 'body' | 'headers'> & { readonly path: string }

/** The request that asks for it. */
export function requestOf(input: CartInput, tokenOf: (guest: string) => string): Request {
  switch (input.kind) {
    case 'read':
      return { method: 'GET', path: '/cart', headers: {} }
    case 'read item':
      return { method: 'GET', path: `/cart/item/${input.id}`, headers: {} }
    case 'add': {
      const body = JSON.stringify({ product: input.product, quantity: input.quantity })
      return { method: 'POST', path: '/cart/item', headers: ifMatch(input.ifMatch), body }
    }
    case 'change': {
      const body = JSON.stringify({ quantity: input.quantity })
      return { method: 'PATCH', path: `/cart/item/${input.id}`, headers: ifMatch(input.ifMatch), body }
    }
    case 'remove':
      return { method: 'DELETE', path: `/cart/item/${input.id}`, headers: ifMatch(input.ifMatch) }
    case 'clear':
      return { method: 'DELETE', path: '/cart', headers: ifMatch(input.ifMatch) }
    case 'claim':
      return { method: 'POST', path: '/guest/claim', headers: { 'guest-token': tokenOf(input.guest) } }
  }
}

/** A tag of this version; its hash, of the body, has no say in If-Match. */
function ifMatch(seen: Seen | undefined): Record<string, string> {
  return seen === undefined ? {} : { 'if-match': `"${seen.id}:${seen.version}:"` }
}

/** @throws {Error} where a response of success contradicts itself */
export function outputOf(input: CartInput, status: number, text: string): CartOutput {
  if (status >= 300 || input.kind === 'claim' || input.kind === 'clear' || input.kind === 'remove')
    return { status }
  const body = JSON.parse(text)
  if (input.kind !== 'read') return { status, line: lineOf(body) }
  const lines: Line[] = body.items.map(lineOf)
  const total = lines.reduce((sum, { quantity }) => sum + quantity, 0)
  if (body.itemCount !== lines.length || body.totalQuantity !== total)
    throw new Error(`a cart that contradicts itself: ${text}`)
  return { status, cart: { id: body.id, version: body.version, lines } }
}

const lineOf = ({ id, product, quantity, version }: Line): Line => ({ id, product, quantity, version })
