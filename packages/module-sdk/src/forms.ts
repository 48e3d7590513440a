import { randomFillSync } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { currentTime } from './current-time.ts'

// The one form of ids, times and addresses.

/** A TypeID's alphabet: Crockford's base32 in lower case. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** Ten bits in two characters. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${ALPHABET[bits >> 5]}${ALPHABET[bits & 31]}`)
/** The two characters of the lowest ten bits. */
const pair = (bits: number) => PAIRS[bits & 1023] as string

const VALID_PREFIX = /^[a-z](?:[a-z_]{0,61}[a-z])?$/
/** How far the clock may be set back, in milliseconds, without a new beginning. */
const SET_BACK = 10_000

/** Random numbers for 512 ids, since each call of the system costs more than an id. */
const random = new Uint32Array(1024)
let used = random.length

/** The millisecond of the last id, its characters, and the count of ids in it: 24 bits. */
let time = 0
let timeText = ''
let count = 0

/**
 * A new TypeID: `prefix`, `_`, and a UUIDv7 in 26 characters of base32. Ids sort by creation time,
 * those of one process strictly.
 * @throws {TypeError} for a prefix that is not 1 to 63 letters a–z, with `_` between them
 */
export function newId(prefix: string): string {
  if (!VALID_PREFIX.test(prefix)) throw new TypeError(`"${prefix}" cannot begin an id: write letters a-z`)
  const now = currentTime()
  count += 1
  if (now > time || now < time - SET_BACK) begin(now)
  else if (count > 0xff_ffff) begin(time + 1)
  // RFC 9562: after the time version 7, 12 bits of the count, variant 2, 12 bits of the count, and 50
  // random bits.
  const [one, other] = [randomBits(), randomBits()]
  const counted = pair(0x1c0 | (count >>> 18)) + pair(((count >>> 8) & 0x3f0) | 8 | ((count >>> 10) & 3))
  return `${prefix}_${timeText}${counted}${pair(count)}${pair(one)}${pair(one >>> 10)}${pair(one >>> 20)}${pair(other)}${pair(other >>> 10)}`
}

function begin(now: number): void {
  time = now
  timeText = ''
  for (const shift of [40, 30, 20, 10, 0]) timeText += pair(Math.floor(now / 2 ** shift) % 1024)
  // Half of the range stays for the count.
  count = randomBits() >>> 9
}

function randomBits(): number {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  return random[used++] as number
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** The day of the last time, since the epoch, and its characters: times of one response share it. */
let day = Number.NaN
let dayText = ''

/**
 * RFC 3339, UTC, milliseconds, from epoch milliseconds: the only format of times in the API. Null
 * stays null.
 */
export function timestamp(epochMilliseconds: number): string
export function timestamp(epochMilliseconds: number | null): string | null
export function timestamp(epochMilliseconds: number | null): string | null {
  if (epochMilliseconds === null) return null
  const time = Math.trunc(epochMilliseconds)
  const days = Math.floor(time / DAY)
  if (days !== day) {
    dayText = new Date(days * DAY).toISOString().slice(0, -'00:00:00.000Z'.length)
    day = days
  }
  const milliseconds = time - days * DAY
  const seconds = Math.floor(milliseconds / 1000)
  const minutes = Math.floor(seconds / 60)
  const clock = `${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}`
  return `${dayText}${clock}.${String(1000 + (milliseconds % 1000)).slice(1)}Z`
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
