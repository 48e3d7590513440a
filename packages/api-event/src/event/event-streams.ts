import type { Caller, EventLog } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import { problems } from '../problems.ts'
import type { Settings } from '../settings.ts'
import { EventStream } from './event-stream.ts'
import type { Selection } from './selection.ts'
import { Tail } from './tail.ts'

/** How soon somebody who was refused a stream may ask again, in seconds. */
const RETRY_AFTER = '10'

/** Where a stream begins. */
export interface Beginning {
  readonly cursor: string
  readonly position: number
}

/** The streams of one generation: so many, and no longer than it serves. */
export class EventStreams {
  readonly #events: EventLog
  readonly #settings: Settings
  readonly #retiring: AbortSignal
  readonly #tail: Tail
  readonly #open = new Set<EventStream>()
  readonly #byCaller = new Map<string, number>()

  constructor(events: EventLog, settings: Settings, retiring: AbortSignal, log: FastifyBaseLogger) {
    this.#events = events
    this.#settings = settings
    this.#retiring = retiring
    this.#tail = new Tail(events, log)
    retiring.addEventListener('abort', () => {
      for (const stream of this.#open) stream.end()
    })
  }

  /**
   * @param isEntitled whether the caller is still who it was; asked at every heartbeat
   * @throws {Problem} `too-many-streams`, `streams-exhausted`
   */
  open(
    { id: caller }: Caller,
    selection: Selection,
    beginning: Beginning,
    isEntitled: () => Promise<boolean>,
  ): EventStream {
    const own = this.#byCaller.get(caller) ?? 0
    this.#assertRoom(own)
    const stream = new EventStream({
      ...beginning,
      events: this.#events,
      tail: this.#tail,
      selection,
      heartbeat: this.#settings.heartbeatSeconds * 1000,
      isEntitled,
    })
    this.#open.add(stream)
    this.#byCaller.set(caller, own + 1)
    stream.once('close', () => this.#remove(caller, stream))
    if (this.#retiring.aborted) stream.end()
    return stream
  }

  #assertRoom(own: number): void {
    const { streams, streamsPerCaller } = this.#settings
    if (own >= streamsPerCaller) throw refused('too-many-streams', `You have ${own} streams open here`)
    if (this.#open.size >= streams) throw refused('streams-exhausted', 'As many streams are open as may be')
  }

  #remove(caller: string, stream: EventStream): void {
    this.#open.delete(stream)
    const left = (this.#byCaller.get(caller) ?? 0) - 1
    if (left > 0) this.#byCaller.set(caller, left)
    else this.#byCaller.delete(caller)
    if (this.#open.size === 0) this.#tail.stop()
  }
}

function refused(code: 'too-many-streams' | 'streams-exhausted', what: string) {
  const detail = `${what}. Try again in ${RETRY_AFTER} s, or read the list: it takes none.`
  return problems.create(code, detail, { headers: { 'retry-after': RETRY_AFTER } })
}
