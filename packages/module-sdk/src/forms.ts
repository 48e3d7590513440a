import { isIPv4, isIPv6 } from 'node:net'
import { typeid } from 'typeid-js'

// The one form of ids, times and addresses.

/**
 * A new TypeID: `prefix`, `_`, and a UUIDv7 in 26 characters of base32. Ids sort by creation time.
 */
export function newId(prefix: string): string {
  return typeid(prefix).toString()
}

/**
 * RFC 3339, UTC, milliseconds, from epoch milliseconds: the only format of times in the API. Null
 * stays null.
 */
export function timestamp(epochMilliseconds: number): string
export function timestamp(epochMilliseconds: number | null): string | null
export function timestamp(epochMilliseconds: number | null): string | null {
  return epochMilliseconds === null ? null : new Date(epochMilliseconds).toISOString()
}

/** A record as its table stores it: fields that end in `At` are epoch milliseconds. */
export type Row<Shown> = {
  [Key in keyof Shown]: Key extends `${string}At` ? Exclude<Shown[Key], string> | number : Shown[Key]
}

/** A day in milliseconds. */
export const DAY = 86_400_000

/** Some proxies also forward the port: `192.0.2.7:5555`, `[2001:db8::1]:5555`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/

/**
 * The key for limits per address: an IPv4 address as it is, an IPv6 address cut to its /64, because
 * one subscriber has a whole /64. The key has no port. Pass `request.ip`: it is the client's
 * address if `server.trustProxy` names the proxies.
 * @returns 'unknown' if `address` is not an IP address
 */
export function addressKey(address: string): string {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) {
    const [, v6, v4] = WITH_PORT.exec(address) ?? []
    const bare = v6 ?? v4
    return bare === undefined ? 'unknown' : addressKey(bare)
  }
  const [plain = ''] = address.toLowerCase().split('%')
  const mapped = plain.slice(plain.lastIndexOf(':') + 1)
  if (isIPv4(mapped) && /^[0:]*:ffff:[^:]+$/.test(plain)) return mapped
  const [head = '', tail] = plain.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const after = tail === '' ? 0 : tail.split(':').length + (isIPv4(mapped) ? 1 : 0)
    while (groups.length + after < 8) groups.push('0')
    groups.push(...tail.split(':'))
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
