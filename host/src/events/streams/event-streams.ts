import type { EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { EventStream } from './event-stream.ts'
import { LiveEvents } from './live-events.ts'
import type { Reader } from './reader.ts'
import type { Selection } from './selection.ts'
import { StreamCounts } from './stream-counts.ts'

/** The start of a stream. */
export interface Beginning {
  readonly cursor: string
  readonly position: number
}

/** The streams of one generation, of all modules. It limits their number and ends them when it retires. */
export class EventStreams {
  readonly #events: EventLog
  readonly #retiring: AbortSignal
  readonly #log: FastifyBaseLogger
  readonly #open = new Set<EventStream>()
  readonly #counts = new StreamCounts()
  #tail: LiveEvents | undefined

  constructor(events: EventLog, retiring: AbortSignal, log: FastifyBaseLogger) {
    this.#events = events
    this.#retiring = retiring
    this.#log = log
    retiring.addEventListener('abort', () => {
      for (const stream of this.#open) stream.end()
      this.#tail?.close()
    })
  }

  /** Ends the streams whose readers' credentials do not hold any more. */
  check(): void {
    for (const stream of this.#open) stream.check()
  }

  /** @throws {Problem} if there are too many: see `StreamCounts` */
  open(reader: Reader, selection: Selection, beginning: Beginning): EventStream {
    const giveBack = this.#counts.take(reader)
    this.#tail ??= new LiveEvents(this.#events, this.#log)
    const tail = this.#tail
    const { isEntitled, limits } = reader
    const stream = new EventStream({
      ...beginning,
      ...{ events: this.#events, tail, selection, isEntitled },
      heartbeat: limits.heartbeatSeconds * 1000,
    })
    this.#open.add(stream)
    stream.once('close', () => {
      giveBack()
      this.#open.delete(stream)
      if (this.#open.size === 0) tail.stop()
    })
    if (this.#retiring.aborted) stream.end()
    return stream
  }
}
