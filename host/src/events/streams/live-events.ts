import { type EventLog, isLoggedElsewhere } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { SerializedEvent } from './serialized-event.ts'

/** The number of events to read at a time. */
const BATCH = 100
/** The number of newest events in memory, for streams that have just fallen behind. */
const RECENT = 100

export interface Follower {
  /** Receives the events after the newest that it has, in order, without a gap. */
  send(events: readonly SerializedEvent[]): void
}

/**
 * The newest events, read once for all streams of a generation. It reads only between `start` and
 * `stop`. A stream that has everything up to the newest event follows and receives new ones. Other
 * streams read by themselves until they have caught up.
 */
export class LiveEvents {
  readonly #events: EventLog
  readonly #log: FastifyBaseLogger
  readonly #followers = new Set<Follower>()
  /** The position of the newest event read. Undefined while nothing follows. */
  #position: number | undefined
  /** The events up to `#position`, without a gap. */
  #recent: SerializedEvent[] = []
  #reading = false
  #readAgain = false
  readonly #ignore: () => void

  constructor(events: EventLog, log: FastifyBaseLogger) {
    this.#events = events
    this.#log = log
    this.#ignore = events.onMore(() => this.wake())
  }

  /** Unless it has started. Resolves to the position of the newest event read. */
  async start(): Promise<number> {
    if (this.#position === undefined) {
      const last = await this.#events.last()
      this.#position ??= last
      this.wake()
    }
    return this.#position
  }

  stop(): void {
    this.#position = undefined
    this.#recent = []
  }

  /** For good. */
  close(): void {
    this.stop()
    this.#ignore()
  }

  /** The events after `position` that are in memory. Undefined if some of them are not. */
  since(position: number): readonly SerializedEvent[] | undefined {
    if (this.#position === undefined) return undefined
    if (position >= this.#position) return []
    const first = this.#recent.findIndex(({ event }) => event.position > position)
    const isPreceded = first > 0 || this.#recent[0]?.event.position === position + 1
    return first >= 0 && isPreceded ? this.#recent.slice(first) : undefined
  }

  follow(follower: Follower): void {
    this.#followers.add(follower)
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower)
  }

  /** Checks for more events. */
  wake(): void {
    this.#readAgain = true
    if (this.#reading) return
    this.#reading = true
    this.#readOn()
  }

  /** Checks for more events after a failure. */
  retry(): void {
    if (this.#readAgain) this.wake()
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#readAgain && this.#position !== undefined) {
        this.#readAgain = false
        const after = this.#position
        const { events: found } = await this.#events.read({ after, limit: BATCH })
        // Stopped in the meantime, and perhaps restarted.
        if (this.#position !== after) this.#readAgain = true
        else if (found.length > 0) this.#send(found.map((event) => new SerializedEvent(event)))
        if (found.length === BATCH) this.#readAgain = true
      }
    } catch (error) {
      this.#readAgain = true
      this.#log[isLoggedElsewhere(error) ? 'debug' : 'warn'](
        error,
        'cannot read new events for streams; the host tries again',
      )
    } finally {
      this.#reading = false
    }
  }

  #send(events: readonly SerializedEvent[]): void {
    this.#position = events.at(-1)?.event.position
    this.#recent = [...this.#recent, ...events].slice(-RECENT)
    for (const follower of this.#followers) follower.send(events)
  }
}
