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
 */
export class StreamLimits {
  readonly #limits: Limits
  readonly #open = new Map<string, number>()

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /**
   * @param address the client's address, from `request.ip`
   * @returns a function that releases the place; call it once
   * @throws {Problem} `too-many-streams`, `too-many-streams-per-address`, `streams-exhausted`,
   * `guest-streams-exhausted`
   */
  take({ id, kind }: Caller, address: string): () => void {
    const key = addressKey(address)
    const isGuest = kind === 'guest'
    this.#assertRoom(id, key, isGuest)
    const counters = [`caller ${id}`, `address ${key}`, 'all']
    counters.push(...(isGuest ? ['guests'] : [`users of ${key}`]))
    for (const counter of counters) count(this.#open, counter, 1)
    return () => {
      for (const counter of counters) count(this.#open, counter, -1)
    }
  }

  #assertRoom(caller: string, address: string, isGuest: boolean): void {
    const { streams, streamsPerAddress, streamsPerCaller } = this.#limits
    const own = this.#openOf(`caller ${caller}`)
    if (own >= streamsPerCaller) throw refused('too-many-streams', `You have ${own} open streams`)
    const there = this.#openOf(isGuest ? `address ${address}` : `users of ${address}`)
    if (there >= streamsPerAddress)
      throw refused('too-many-streams-per-address', `Your address has ${there} open streams`)
    if (this.#openOf('all') >= streams) throw refused('streams-exhausted', 'The server has no more streams')
    if (isGuest && this.#openOf('guests') >= streams - Math.floor(streams / 5))
      throw refused('guest-streams-exhausted', 'The remaining streams are for signed-in users')
  }

  #openOf(counter: string): number {
    return this.#open.get(counter) ?? 0
  }
}

function refused(code: Parameters<typeof problem>[0], what: string) {
  const detail = `${what}. Close one, try again in ${RETRY_AFTER} s, or read the list instead.`
  return problem(code, detail, { headers: { 'retry-after': RETRY_AFTER } })
}
