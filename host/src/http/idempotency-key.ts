import { hostProblems } from './problems.ts'

const BARE = /^[!#-~][!-~]{0,254}$/
/** A structured-field string (RFC 9651) without blanks. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\])+)"$/
const LONGEST = 255

/**
 * The key of an `Idempotency-Key` header; bare or quoted, it is the same. Node joins repeated headers with a comma
 * and a blank, which no key has.
 * @throws {Problem} `invalid-request`
 */
export function parseIdempotencyKey(header: string | readonly string[]): string {
  const value = [header].flat().join(', ')
  if (BARE.test(value)) return value
  const key = QUOTED.exec(value)?.[1]?.replace(/\\(.)/g, '$1')
  if (key !== undefined && key.length <= LONGEST) return key
  const detail =
    'must be given once and be 1 to 255 visible ASCII characters, bare or in double quotes, where \\" is a quote and \\\\ a backslash'
  throw hostProblems.create(
    'invalid-request',
    'The Idempotency-Key is no valid one; nothing was done. A new UUID for each intended change is a good key.',
    { members: { errors: [{ parameter: 'Idempotency-Key', detail }] } },
  )
}
