import { invalidToken } from './bearer.ts'

/** Many issuers send `JWT` or none, as it is optional; RFC 9068 has `at+jwt`. */
const usual: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt'])

/** Refuses a logout token, a DPoP proof (RFC 8725 §3.11). @throws {Problem} 401 */
export function assertTokenType(typ: unknown, demanded?: string): void {
  const type = mediaType(typ)
  if (demanded === undefined ? usual.has(type) : type === mediaType(demanded)) return
  throw invalidToken('its typ is not an access token type of its issuer')
}

/** RFC 7515 §4.1.9: case does not matter, and `application/` is optional. */
function mediaType(typ: unknown): unknown {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '') : typ
}
