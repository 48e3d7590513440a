import { invalidRequest } from './problems.ts'

const BARE = /^[!#-~][!-~]{0,254}$/
/** A structured-field string (RFC 9651) without spaces. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\])+)"$/
const LONGEST = 255

/**
 * The key of an `Idempotency-Key` header, the same bare or quoted. Node joins repeated headers with
 * a comma and a space, which no key contains.
 * @throws {Problem} `invalid-request`
 */
export function parseIdempotencyKey(header: string | readonly string[]): string {
  const value = [header].flat().join(', ')
  if (BARE.test(value)) return value
  const key = QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1')
  if (key !== undefined && key.length <= LONGEST) return key
  throw invalidKey(
    'The Idempotency-Key is invalid; nothing was done. Use a new UUID for each intended change.',
    'must be given once and be 1 to 255 visible ASCII characters, bare or in double quotes, where \\" is a quote and \\\\ a backslash',
  )
}

/**
 * Refuses a key, since a key promises a kept response.
 * @throws {Problem} `invalid-request`
 */
export function refuseKey(): never {
  throw invalidKey(
    'This route does not support Idempotency-Key; nothing was done. Send the request without it.',
    'must not be sent here',
  )
}

const invalidKey = (what: string, detail: string) =>
  invalidRequest(what, [{ parameter: 'Idempotency-Key', detail }])
