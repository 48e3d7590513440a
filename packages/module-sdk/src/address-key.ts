import { isIPv4, isIPv6 } from 'node:net'

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
