import { addressKey, type Caller } from '@mortise/module-sdk'
import { count } from '../count.ts'
import { problem } from '../module.ts'
import type { Settings } from '../settings.ts'

/** The `Retry-After` of a refused stream, in seconds. */
const RETRY_AFTER = '10'

type Limits = Pick<Settings, 'streams' | 'streamsPerAddress' | 'streamsPerCaller'>

/**
 * Counts the open streams of this process, by owner. Guests are free to create, so their streams
 * leave room for signed-in users: guests get a fifth of all streams, and per address as many as
 * users.
 * @returns takes the place of a stream for an address, from `request.ip`, and returns what gives it
 * back: call that once. Throws `too-many-streams`, `too-many-streams-per-address`,
 * `streams-exhausted`, `guest-streams-exhausted`
 */
export function limitStreams({ streams, streamsPerAddress, streamsPerCaller }: Limits) {
  const open = new Map<string, number>()
  const openOf = (counter: string) => open.get(counter) ?? 0
  return ({ id, kind }: Caller, from: string): (() => void) => {
    const isGuest = kind === 'guest'
    const [caller, address, users] = [
      `caller ${id}`,
      `address ${addressKey(from)}`,
      `users of ${addressKey(from)}`,
    ]
    const own = openOf(caller)
    if (own >= streamsPerCaller) throw refused('too-many-streams', `You have ${own} open streams`)
    const there = openOf(isGuest ? address : users)
    if (there >= streamsPerAddress)
      throw refused('too-many-streams-per-address', `Your address has ${there} open streams`)
    if (openOf('all') >= streams) throw refused('streams-exhausted', 'The server has no more streams')
    if (isGuest && openOf('guests') >= streams - Math.floor(streams / 5))
      throw refused('guest-streams-exhausted', 'The remaining streams are for signed-in users')
    const counters = [caller, address, 'all', isGuest ? 'guests' : users]
    for (const counter of counters) count(open, counter, 1)
    return () => {
      for (const counter of counters) count(open, counter, -1)
    }
  }
}

function refused(code: Parameters<typeof problem>[0], what: string) {
  const detail = `${what}. Close one, try again in ${RETRY_AFTER} s, or read the list instead.`
  return problem(code, detail, { headers: { 'retry-after': RETRY_AFTER } })
}
