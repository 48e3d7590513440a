import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventLog } from '@mortise/module-sdk'
import type { Follower, LiveEvents } from './live-events.ts'
import { type Selection, selects } from './selection.ts'
import { SerializedEvent } from './serialized-event.ts'

/** Events that a stream which is behind reads at a time: the most that waits in memory for a slow reader. */
const BATCH = 16
/** A reader whose stream has ended comes back after this time and up to as much again, in milliseconds. */
const RETRY = 2_000

const HEARTBEAT = Buffer.from(':\n\n')

export interface EventStreamOptions {
  readonly events: EventLog
  readonly tail: LiveEvents
  readonly selection: Selection
  /** What the reader goes on from, should it end before the first event. */
  readonly cursor: string
  /** That of `cursor`. */
  readonly position: number
  /** In milliseconds. */
  readonly heartbeat: number
  /** Whether the reader is still who it was; asked at every heartbeat. */
  readonly isEntitled: () => Promise<boolean>
}

/**
 * The events of one selection from a position on, as Server-Sent Events, in the order of their positions. Nothing is
 * read while its reader takes nothing.
 */
export class EventStream extends Readable implements Follower {
  readonly #options: EventStreamOptions
  readonly #timer: NodeJS.Timeout
  /** All that it shows up to here is written. */
  #position: number
  #isWanted = false
  #isReading = false
  #hasEnded = false

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: 16 * 1024 })
    this.#options = options
    this.#position = options.position
    this.#timer = setInterval(() => this.#beat(), options.heartbeat).unref()
    const retry = Math.round(RETRY * (1 + Math.random()))
    this.push(`retry: ${retry}\nid: ${options.cursor}\n\n`)
  }

  override _read(): void {
    this.#isWanted = true
    this.#goOn()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stop()
    done(error)
  }

  /** Ends it when its reader has taken what is written; the reader comes back for the rest. */
  end(): void {
    if (this.#hasEnded) return
    this.#stop()
    this.push(null)
  }

  tell(events: readonly SerializedEvent[]): void {
    for (const told of events) {
      if (!this.#isWanted) break
      if (told.event.position <= this.#position) continue
      if (selects(this.#options.selection, told.event)) this.#isWanted = this.push(told.frame)
      this.#position = told.event.position
    }
    if (!this.#isWanted) this.#options.tail.unfollow(this)
  }

  #stop(): void {
    this.#hasEnded = true
    clearInterval(this.#timer)
    this.#options.tail.unfollow(this)
  }

  #beat(): void {
    const { tail, isEntitled } = this.#options
    if (this.#isWanted) this.#isWanted = this.push(HEARTBEAT)
    if (!this.#isWanted) tail.unfollow(this)
    tail.retry()
    this.#goOn()
    // Where nobody can be asked just now, that is known at the next one.
    isEntitled().then(
      (is) => is || this.end(),
      () => {},
    )
  }

  /** Catches up, as far as the reader takes it, and then follows. */
  async #goOn(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const { tail } = this.#options
    try {
      while (this.#isWanted && !this.#hasEnded) {
        const recent = tail.since(this.#position)
        if (recent === undefined) {
          await this.#readBatch()
          // A reader that keeps up would leave no turn to anybody else.
          await nextTurn()
        } else if (recent.length > 0) {
          this.tell(recent)
        } else {
          return tail.follow(this)
        }
      }
    } catch {
      // The database is away; whoever fails to read it tells. It is read again at the next heartbeat.
    } finally {
      this.#isReading = false
    }
  }

  async #readBatch(): Promise<void> {
    const { events, tail, selection } = this.#options
    // What is no newer than this was there before the look, so that it is found or not selected.
    const seen = await tail.start()
    const found = await events.read({ ...selection, after: this.#position, limit: BATCH })
    if (this.#hasEnded) return
    for (const event of found) this.#isWanted = this.push(new SerializedEvent(event).frame)
    const last = found.at(-1)?.position ?? 0
    this.#position = found.length < BATCH ? Math.max(last, seen, this.#position) : last
  }
}
