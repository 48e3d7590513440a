import { invalidToken } from './bearer.ts'

/**
 * `JWT`, because many issuers send no other (RFC 9068 has `at+jwt`), or none, because it is
 * optional.
 */
const usual: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt'])

/**
 * Refuses a token of another type: a logout token, a DPoP proof (RFC 8725 §3.11).
 * @param demanded the only accepted type, if its issuer has one
 * @throws {Problem} 401
 */
export function assertTokenType(typ: unknown, demanded?: string): void {
  const type = mediaType(typ)
  if (demanded === undefined ? usual.has(type) : type === mediaType(demanded)) return
  throw invalidToken('its typ is not that of an access token of its issuer')
}

/** RFC 7515 §4.1.9: case does not matter, and `application/` is optional. */
function mediaType(typ: unknown): unknown {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '') : typ
}
