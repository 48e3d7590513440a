import type { Problem, ProblemOptions } from '@mortise/module-sdk'
import { hostProblems } from '../http/problems.ts'

// Bearer tokens in requests and in the challenges that refuse them (RFC 6750). A challenge contains
// only constant or configured text, never a part of the token.

/** @throws {Problem} 401 for another scheme or a malformed token */
export function bearerToken(authorization: string): string {
  if (/^(bearer)? *$/i.test(authorization)) throw noToken()
  const scheme = /^bearer +/i.exec(authorization)
  if (!scheme) throw invalidToken('the Authorization header is not of the form Bearer and a token')
  return authorization.slice(scheme[0].length)
}

/** @param description without quotes and backslashes (RFC 6750 §3) */
export function invalidToken(description: string, options?: Pick<ProblemOptions, 'cause'>): Problem {
  return hostProblems.create(
    'unauthorized',
    `The bearer token is invalid: ${description}. Send a valid token, or no token to be a guest.`,
    {
      ...options,
      headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${description}"` },
    },
  )
}

/** 401: the header is there, and the token is not. */
function noToken(): Problem {
  return hostProblems.create(
    'unauthorized',
    'The Authorization header has no token: nothing follows Bearer. A variable may be empty. Send a token, or no such header to be a guest.',
    {
      headers: { 'www-authenticate': 'Bearer error="invalid_token", error_description="no token was sent"' },
    },
  )
}

/** 401: a route for signed-in callers without a signed-in caller. */
export function signInNeeded(scope?: string): Problem {
  const token = scope === undefined ? 'a token' : `a token with the scope ${scope}`
  return hostProblems.create(
    'unauthorized',
    `This request needs a signed-in caller: send Authorization: Bearer and ${token}.`,
    { headers: { 'www-authenticate': scope === undefined ? 'Bearer' : `Bearer scope="${scope}"` } },
  )
}

/** 403: signed in without the scope. */
export function insufficientScope(scope: string): Problem {
  return hostProblems.create('insufficient-scope', `This request needs a token with the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
}
