import { addressKey, type StreamLimits, type StreamProblem } from '@mortise/module-sdk'

/** Whose stream it is. */
export interface StreamOwner {
  /** The id of the caller; undefined if the route knows none. */
  readonly id: string | undefined
  readonly isGuest: boolean
  /** The client's address, from `request.ip`. */
  readonly address: string
}

/** Why there is no place for a stream. */
export interface StreamRefusal {
  readonly code: StreamProblem
  readonly detail: string
}

export const LIMITS: StreamLimits = {
  streamsPerCaller: 10,
  streamsPerAddress: 20,
  streams: 1500,
  heartbeatSeconds: 15,
}

/**
 * Counts the open streams of this process, by owner: all responses that stay open, of all modules.
 * Guests are free to create, so their streams leave room for signed-in users: guests get four fifths
 * of all streams, and per address as many as users.
 */
export class StreamCounts {
  readonly #open = new Map<string, number>()

  /**
   * Takes the place of a stream.
   * @returns what gives it back, to be called once; or why there is none
   */
  take(
    { id, isGuest, address: from }: StreamOwner,
    limits: StreamLimits = LIMITS,
  ): (() => void) | StreamRefusal {
    const { streams, streamsPerAddress, streamsPerCaller } = limits
    const [caller, address, users] = [
      `caller ${id}`,
      `address ${addressKey(from)}`,
      `users of ${addressKey(from)}`,
    ]
    const own = id === undefined ? 0 : this.#of(caller)
    if (own >= streamsPerCaller) return { code: 'too-many-streams', detail: `You have ${own} open streams` }
    const there = this.#of(isGuest ? address : users)
    if (there >= streamsPerAddress)
      return { code: 'too-many-streams-per-address', detail: `Your address has ${there} open streams` }
    if (this.#of('all') >= streams)
      return { code: 'streams-exhausted', detail: 'The server has no more streams' }
    if (isGuest && this.#of('guests') >= streams - Math.floor(streams / 5))
      return { code: 'guest-streams-exhausted', detail: 'The remaining streams are for signed-in users' }
    const counters = [...(id === undefined ? [] : [caller]), address, 'all', isGuest ? 'guests' : users]
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
