import { defineProblems, type InvalidPart } from '@mortise/module-sdk'

export const problems = defineProblems('api-purchase', {
  'invalid-request': { status: 400, title: 'The request is invalid' },
  'insufficient-scope': { status: 403, title: 'The token lacks a scope' },
  'purchase-not-found': { status: 404, title: 'There is no such purchase' },
  'illegal-transition': { status: 409, title: 'The purchase cannot go to that status' },
  'cart-changed': { status: 409, title: 'The cart has less than was purchased' },
  'not-deletable': { status: 409, title: 'A purchase in this status stays' },
  'cart-unavailable': { status: 422, title: 'There is no cart to take from' },
})

/** What the schema of a route cannot say about its input. */
export function invalidRequest(...errors: InvalidPart[]) {
  const detail =
    'The request was refused and nothing was done: correct what `errors` points at, and send it again.'
  return problems.create('invalid-request', detail, { members: { errors } })
}

/** `scope` is what it takes to do `what`. The header is that of RFC 6750. */
export function insufficientScope(scope: string, what: string) {
  return problems.create('insufficient-scope', `To ${what}, use a token with the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
}

/** The same for every id that opens nothing: unknown, malformed, deleted, another caller's. */
export function purchaseNotFound() {
  return problems.create(
    'purchase-not-found',
    'You have no purchase with this id: GET /purchase lists those you have.',
  )
}
