import { defineProblems, type InvalidPart } from './problem.ts'

/** Problems that the host and every module share, under one type. */
export const commonProblems = defineProblems('host', {
  'invalid-request': { status: 400, title: 'The request is invalid' },
  'insufficient-scope': { status: 403, title: 'The token lacks a scope' },
})

/** To throw for what the schema of a route cannot say about its input. */
export function invalidRequest(...errors: InvalidPart[]) {
  const detail =
    'The request was refused and nothing was done: correct what `errors` points at, and send it again.'
  return commonProblems.create('invalid-request', detail, { members: { errors } })
}

/** To throw where it takes `scope` to do `what`. The header is that of RFC 6750. */
export function insufficientScope(scope: string, what: string) {
  return commonProblems.create('insufficient-scope', `To ${what}, use a token with the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
}
