import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventLog } from '@mortise/module-sdk'
import type { Follower, LiveEvents } from './live-events.ts'
import { type Selection, selects } from './selection.ts'
import { SerializedEvent } from './serialized-event.ts'

/** The most events that a slow reader keeps in memory. */
const BATCH = 16
/** A reader reconnects after this many milliseconds, up to twice as many at random. */
const RETRY = 2_000

const HEARTBEAT = Buffer.from(':\n\n')

export interface EventStreamOptions {
  readonly events: EventLog
  readonly tail: LiveEvents
  readonly selection: Selection
  /** The cursor for a reader whose stream ends before the first event. */
  readonly cursor: string
  /** The position of `cursor`. */
  readonly position: number
  /** In milliseconds. */
  readonly heartbeat: number
}

/** In order of position. It reads nothing while its reader takes nothing. */
export class EventStream extends Readable implements Follower {
  readonly #options: EventStreamOptions
  readonly #timer: NodeJS.Timeout
  /** All selected events up to here are written. */
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

  /** Ends the stream after the reader took what is written. The reader reconnects for the rest. */
  end(): void {
    if (this.#hasEnded) return
    this.#stop()
    this.push(null)
  }

  send(events: readonly SerializedEvent[]): void {
    for (const serialized of events) {
      if (!this.#isWanted) break
      if (serialized.event.position <= this.#position) continue
      if (selects(this.#options.selection, serialized.event)) this.#isWanted = this.push(serialized.frame)
      this.#position = serialized.event.position
    }
    if (!this.#isWanted) this.#options.tail.unfollow(this)
  }

  #stop(): void {
    this.#hasEnded = true
    clearInterval(this.#timer)
    this.#options.tail.unfollow(this)
  }

  #beat(): void {
    const { tail } = this.#options
    if (this.#isWanted) this.#isWanted = this.push(HEARTBEAT)
    if (!this.#isWanted) tail.unfollow(this)
    tail.retry()
    this.#goOn()
  }

  /** Catches up at the reader's pace, and then follows. */
  async #goOn(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const { tail } = this.#options
    try {
      while (this.#isWanted && !this.#hasEnded) {
        const recent = tail.since(this.#position)
        if (recent === undefined) {
          await this.#readBatch()
          // A fast reader would otherwise starve all other work.
          await nextTurn()
        } else if (recent.length > 0) {
          this.send(recent)
        } else {
          return tail.follow(this)
        }
      }
    } catch {
      // The database is unavailable, and other code logs that. The next heartbeat reads again.
    } finally {
      this.#isReading = false
    }
  }

  async #readBatch(): Promise<void> {
    const { events, tail, selection } = this.#options
    // Events up to this position exist before the search, so the search finds each one or does not
    // select it.
    const seen = await tail.start()
    const { events: found, next } = await events.read({
      ...selection,
      after: this.#position,
      limit: BATCH,
    })
    if (this.#hasEnded) return
    for (const event of found) this.#isWanted = this.push(new SerializedEvent(event).frame)
    const last = found.at(-1)?.position ?? 0
    this.#position = next?.position ?? Math.max(last, seen, this.#position)
  }
}
