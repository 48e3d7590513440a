import type { Caller, EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { Settings } from '../settings.ts'
import { EventStream } from './event-stream.ts'
import { LiveEvents } from './live-events.ts'
import type { Selection } from './selection.ts'
import { StreamLimits } from './stream-limits.ts'

/** The start of a stream. */
export interface Beginning {
  readonly cursor: string
  readonly position: number
}

export interface Reader {
  readonly caller: Caller
  /** The client's address, from `request.ip`. */
  readonly address: string
  /** Whether the caller's credentials still hold. The stream checks at every heartbeat. */
  readonly isEntitled: () => Promise<boolean>
}

/** The streams of one generation. It limits their number and ends them with the generation. */
export class EventStreams {
  readonly #events: EventLog
  readonly #settings: Settings
  readonly #retiring: AbortSignal
  readonly #tail: LiveEvents
  readonly #open = new Set<EventStream>()
  readonly #shares: StreamLimits

  constructor(events: EventLog, settings: Settings, retiring: AbortSignal, log: FastifyBaseLogger) {
    this.#events = events
    this.#settings = settings
    this.#retiring = retiring
    this.#tail = new LiveEvents(events, log)
    this.#shares = new StreamLimits(settings)
    retiring.addEventListener('abort', () => {
      for (const stream of this.#open) stream.end()
    })
  }

  /** @throws {Problem} like `StreamLimits.take` */
  open({ caller, address, isEntitled }: Reader, selection: Selection, beginning: Beginning): EventStream {
    const giveBack = this.#shares.take(caller, address)
    const stream = new EventStream({
      ...beginning,
      events: this.#events,
      tail: this.#tail,
      selection,
      heartbeat: this.#settings.heartbeatSeconds * 1000,
      isEntitled,
    })
    this.#open.add(stream)
    stream.once('close', () => {
      giveBack()
      this.#open.delete(stream)
      if (this.#open.size === 0) this.#tail.stop()
    })
    if (this.#retiring.aborted) stream.end()
    return stream
  }
}
