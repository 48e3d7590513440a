import type { EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { EventStream } from './event-stream.ts'
import { LiveEvents } from './live-events.ts'
import type { Reader } from './reader.ts'
import type { Selection } from './selection.ts'

/** The start of a stream. */
export interface Beginning {
  readonly cursor: string
  readonly position: number
}

/** The streams of one generation, of all modules. It ends them when it retires. */
export class EventStreams {
  readonly #events: EventLog
  readonly #retiring: AbortSignal
  readonly #log: FastifyBaseLogger
  readonly #open = new Set<EventStream>()
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

  open(reader: Reader, selection: Selection, beginning: Beginning): EventStream {
    this.#tail ??= new LiveEvents(this.#events, this.#log)
    const tail = this.#tail
    const stream = new EventStream({
      ...beginning,
      ...{ events: this.#events, tail, selection },
      heartbeat: reader.limits.heartbeatSeconds * 1000,
    })
    this.#open.add(stream)
    stream.once('close', () => {
      this.#open.delete(stream)
      if (this.#open.size === 0) tail.stop()
    })
    if (this.#retiring.aborted) stream.end()
    return stream
  }
}
