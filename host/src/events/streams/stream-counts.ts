import { addressKey } from '@mortise/module-sdk'
import type { Reader } from './reader.ts'

/** The `Retry-After` of a refused stream, in seconds. */
const RETRY_AFTER = '10'

/**
 * Counts the open streams of this process, by owner. Guests are free to create, so their streams
 * leave room for signed-in users: guests get four fifths of all streams, and per address as many as
 * users.
 */
export class StreamCounts {
  readonly #open = new Map<string, number>()

  /**
   * Takes the place of a stream.
   * @returns what gives it back: call that once
   * @throws {Problem} `too-many-streams`, `too-many-streams-per-address`, `streams-exhausted`,
   * `guest-streams-exhausted`
   */
  take({ caller: { id, kind }, address: from, limits, problem }: Reader): () => void {
    const { streams, streamsPerAddress, streamsPerCaller } = limits
    const refused = (code: Parameters<typeof problem>[0], what: string) =>
      problem(code, `${what}. Close one, or try again in ${RETRY_AFTER} s.`, { 'retry-after': RETRY_AFTER })
    const isGuest = kind === 'guest'
    const [caller, address, users] = [
      `caller ${id}`,
      `address ${addressKey(from)}`,
      `users of ${addressKey(from)}`,
    ]
    const own = this.#of(caller)
    if (own >= streamsPerCaller) throw refused('too-many-streams', `You have ${own} open streams`)
    const there = this.#of(isGuest ? address : users)
    if (there >= streamsPerAddress)
      throw refused('too-many-streams-per-address', `Your address has ${there} open streams`)
    if (this.#of('all') >= streams) throw refused('streams-exhausted', 'The server has no more streams')
    if (isGuest && this.#of('guests') >= streams - Math.floor(streams / 5))
      throw refused('guest-streams-exhausted', 'The remaining streams are for signed-in users')
    const counters = [caller, address, 'all', isGuest ? 'guests' : users]
    for (const counter of counters) this.#add(counter, 1)
    return () => {
      for (const counter of counters) this.#add(counter, -1)
    }
  }

  #of(counter: string): number {
    return this.#open.get(counter) ?? 0
  }

  /** A count of zero is deleted, so that the map does not grow. */
  #add(counter: string, by: 1 | -1): void {
    const total = this.#of(counter) + by
    if (total > 0) this.#open.set(counter, total)
    else this.#open.delete(counter)
  }
}
