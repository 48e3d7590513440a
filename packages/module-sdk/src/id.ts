import { typeid } from 'typeid-js'

/**
 * A new TypeID: `prefix`, `_`, and a UUIDv7 in 26 characters of base32. Ids sort by creation time.
 */
export function newId(prefix: string): string {
  return typeid(prefix).toString()
}
