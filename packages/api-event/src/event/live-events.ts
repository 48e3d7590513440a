import { DatabaseError, type EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { SerializedEvent } from './serialized-event.ts'

/** Events that are read at a time. */
const BATCH = 100
/** The newest events that are kept for those who have just fallen behind. */
const RECENT = 100

export interface Follower {
  /** Is told what follows on the newest that it has, in order, and nothing is left out. */
  tell(events: readonly SerializedEvent[]): void
}

/**
 * The newest events, read once for all streams of a generation. Nothing is read before `start`, nor after `stop`. Who has
 * taken everything up to the newest follows, and is handed what comes; others read by themselves until they have.
 */
export class LiveEvents {
  readonly #events: EventLog
  readonly #log: FastifyBaseLogger
  readonly #followers = new Set<Follower>()
  /** Of the newest event that was read; undefined while nobody wants to know. */
  #position: number | undefined
  /** Those up to `#position`, without a gap. */
  #recent: SerializedEvent[] = []
  #reading = false
  #readAgain = false

  constructor(events: EventLog, log: FastifyBaseLogger) {
    this.#events = events
    this.#log = log
    events.onMore(() => this.wake())
  }

  /** Begins with the newest event, unless it has. @returns the position of the newest that it has read */
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

  /** What comes after `position`, as far as it was read; undefined where that is not known here. */
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

  /** Looks for more. */
  wake(): void {
    this.#readAgain = true
    if (this.#reading) return
    this.#reading = true
    this.#readOn()
  }

  /** Looks for more where that has failed. */
  retry(): void {
    if (this.#readAgain) this.wake()
  }

  async #readOn(): Promise<void> {
    try {
      while (this.#readAgain && this.#position !== undefined) {
        this.#readAgain = false
        const after = this.#position
        const found = await this.#events.read({ after, limit: BATCH })
        // Stopped meanwhile, and perhaps begun anew.
        if (this.#position !== after) this.#readAgain = true
        else if (found.length > 0) this.#tell(found.map((event) => new SerializedEvent(event)))
        if (found.length === BATCH) this.#readAgain = true
      }
    } catch (error) {
      this.#readAgain = true
      // That the database is away is told elsewhere.
      const isLoggedElsewhere = error instanceof DatabaseError && error.kind === 'unavailable'
      this.#log[isLoggedElsewhere ? 'debug' : 'warn'](
        error,
        'new events could not be read for streams; they are looked for again',
      )
    } finally {
      this.#reading = false
    }
  }

  #tell(events: readonly SerializedEvent[]): void {
    this.#position = events.at(-1)?.event.position
    this.#recent = [...this.#recent, ...events].slice(-RECENT)
    for (const follower of this.#followers) follower.tell(events)
  }
}
