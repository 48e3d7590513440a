import type { Asked, Headers, Reply } from '../../harness/caller.ts'
import type { CartInput, CartOutput, Line, Seen } from './cart-model.ts'

/** The request that asks for it. @param headersOf those of a guest, by name */
export function requestOf(input: CartInput, headersOf: (guest: string) => Headers): Asked {
  switch (input.kind) {
    case 'read':
      return { method: 'GET', path: '/cart' }
    case 'read item':
      return { method: 'GET', path: `/cart/item/${input.id}` }
    case 'add': {
      const body = { product: input.product, quantity: input.quantity }
      return { method: 'POST', path: '/cart/item', headers: ifMatch(input.ifMatch), body }
    }
    case 'change': {
      const body = { quantity: input.quantity }
      return { method: 'PATCH', path: `/cart/item/${input.id}`, headers: ifMatch(input.ifMatch), body }
    }
    case 'remove':
      return { method: 'DELETE', path: `/cart/item/${input.id}`, headers: ifMatch(input.ifMatch) }
    case 'clear':
      return { method: 'DELETE', path: '/cart', headers: ifMatch(input.ifMatch) }
    case 'claim':
      return { method: 'POST', path: '/guest/claim', headers: headersOf(input.guest) }
  }
}

/** A tag of this version; its hash, of the body, has no say in If-Match. */
function ifMatch(seen: Seen | undefined): Headers {
  // A tag of the host ends with a hash of the body, which a write does not compare.
  return seen === undefined ? {} : { 'if-match': `"${seen.id}:${seen.version}:${'A'.repeat(27)}"` }
}

/** @throws {Error} where a response of success contradicts itself */
export function outputOf(input: CartInput, reply: Reply): CartOutput {
  const { status } = reply
  if (status >= 300 || input.kind === 'claim' || input.kind === 'clear' || input.kind === 'remove')
    return { status }
  const body = reply.json
  if (input.kind !== 'read') return { status, line: lineOf(body) }
  const lines: Line[] = body.items.map(lineOf)
  const total = lines.reduce((sum, { quantity }) => sum + quantity, 0)
  if (body.itemCount !== lines.length || body.totalQuantity !== total)
    throw new Error(`a cart that contradicts itself: ${reply.text}`)
  return { status, cart: { id: body.id, version: body.version, lines } }
}

const lineOf = ({ id, product, quantity, version }: Line): Line => ({ id, product, quantity, version })
