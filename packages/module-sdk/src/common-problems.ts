import { defineProblems, type InvalidPart } from './problem.ts'

/** Problems that the host and every module share, with the host's problem type. */
export const commonProblems = defineProblems('host', {
  'invalid-request': { status: 400, title: 'The request is invalid' },
  'insufficient-scope': { status: 403, title: 'The token lacks a scope' },
})

/** Throw this for an error in the input that the route's schema cannot express. */
export function invalidRequest(...errors: InvalidPart[]) {
  const detail =
    'The request is invalid and nothing was done: correct the fields in `errors`, and send it again.'
  return commonProblems.create('invalid-request', detail, { members: { errors } })
}

/**
 * Throw this when the caller needs `scope` to do `what`. The `WWW-Authenticate` header follows RFC
 * 6750.
 */
export function insufficientScope(scope: string, what: string) {
  return commonProblems.create('insufficient-scope', `To ${what}, use a token with the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
}
