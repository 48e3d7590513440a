import type { IncomingHttpHeaders } from 'node:http'
import { bearerToken } from './bearer.ts'
import type { TokenVerifier } from './token-verifier.ts'

/** The id of the caller whose valid token a request has; undefined without one, or with a bad one. */
export async function signedInCaller(
  { authorization }: IncomingHttpHeaders,
  tokens: TokenVerifier,
): Promise<string | undefined> {
  if (authorization === undefined) return undefined
  try {
    return (await tokens.verify(bearerToken(authorization))).id
  } catch {
    // The response is that of a host whose connections are all taken.
    return undefined
  }
}
