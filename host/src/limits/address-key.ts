import { isIPv4, isIPv6 } from 'node:net'

/**
 * Whom an address stands for: an IPv4 address for itself, an IPv6 one for its /64, of which one subscriber has as many
 * addresses as they like.
 */
export function addressKey(address: string): string {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return 'unknown'
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
