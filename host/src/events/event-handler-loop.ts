import {
  ClockWatch,
  DatabaseError,
  type Event,
  type EventLog,
  Loop,
  newId,
  pauseAfter,
  type React,
  type Rest,
  type Transaction,
} from '@mortise/module-sdk'
import { generatorOf, type Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { errorText } from './error-text.ts'
import { type DueEvent, FailedEvents } from './failed-events.ts'
import { type CursorState, Subscription } from './handler-cursor.ts'
import { type HandlerTimes, handlerTimes } from './handler-times.ts'
import { withTrace } from './map-emissions.ts'

/** Events read at a time. */
const BATCH = 100
/** After this many busy errors in a row for one event, the module has failed. */
const BUSY_LIMIT = 5

/** Shared by all generations of a process, so the next one need not wait for the previous. */
const thisProcess = newId('process')

export interface EventHandlerLoopOptions {
  readonly module: string
  /** By type, or `*`. */
  readonly handlers: ReadonlyMap<string, React>
  readonly storage: Storage
  readonly events: Pick<EventLog, 'read' | 'onMore'>
  readonly log: FastifyBaseLogger
  readonly holder?: string
  readonly times?: HandlerTimes
}

/** An event to handle now. */
interface Turn {
  readonly event: Event
  /** Failed attempts so far; undefined if the cursor has not passed the event. */
  readonly attempts?: number
}

/**
 * Runs the event handlers of one module, one event at a time. Each event is one transaction that
 * also moves the cursor (see `Subscription`), so several hosts, or two generations of one, may run
 * at the same time. A write that emits an event never waits for its handlers.
 */
export class EventHandlerLoop {
  readonly #handlers: EventHandlerLoopOptions['handlers']
  readonly #storage: Storage
  readonly #events: EventHandlerLoopOptions['events']
  readonly #log: FastifyBaseLogger
  readonly #times: HandlerTimes
  readonly #subscription: Subscription
  readonly #waiting: FailedEvents
  readonly #clock = new ClockWatch()
  readonly #loop: Loop
  /** Events read in advance, without those that have no handler. */
  #ahead: Event[] = []
  /** The last position read. */
  #seen = 0
  /** The last known cursor, and when it last moved. */
  #mark = 0
  #markedAt = 0
  #busy = { position: 0, times: 0 }
  #begun: Promise<void> | undefined
  #stopped: Promise<void> | undefined
  #ignore = () => {}

  constructor({ module, handlers, storage, events, log, holder, times }: EventHandlerLoopOptions) {
    this.#handlers = handlers
    this.#storage = storage
    this.#events = events
    this.#log = log
    this.#times = times ?? handlerTimes
    // A database of one host needs no lease.
    const term = storage.isShared ? this.#times.term : 0
    this.#subscription = new Subscription(module, holder ?? thisProcess, term)
    this.#waiting = new FailedEvents(module)
    const { pause } = this.#times
    this.#loop = new Loop({ step: () => this.#step(), log, pause, trouble: 'event handlers cannot run' })
  }

  /** Call it when the module serves. Resolves when no later event can be missed. */
  begin(): Promise<void> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  /** Resolves when all existing events are done or wait for a retry. */
  idle(): Promise<void> {
    return this.#loop.idle()
  }

  /** Starts nothing more; resolves when the current work is done. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await this.#loop.stop()
    if (this.#begun === undefined) return
    await this.#begun
    this.#ignore()
    // If that fails, the others wait until the lease expires.
    await this.#storage.transaction(() => this.#subscription.release()).catch(() => {})
  }

  /** Keeps the events from now on for a later `begin`. */
  async subscribe(): Promise<void> {
    await this.#storage
      .transaction(() => this.#subscription.begin())
      .catch((error) => this.#loop.report(error))
  }

  async #begin(): Promise<void> {
    await this.subscribe()
    if (this.#loop.isStopped) return
    this.#ignore = this.#events.onMore(() => this.#loop.wake())
    this.#loop.begin()
  }

  /** Retries a due event, then continues with the next one. */
  async #step(): Promise<Rest> {
    const { look } = this.#times
    const progress = await this.#storage.maybeOne<CursorState>(this.#subscription.progress())
    if (progress === undefined) {
      await this.#storage.transaction(() => this.#subscription.begin())
      return { ms: 0 }
    }
    const { position, heldFor, dueIn, now } = progress
    if (heldFor > 0) return { ms: Math.min(heldFor, look), deaf: true }
    this.#follow(position)
    if (await this.#clock.watch(now, () => this.#makeDue(dueIn))) return { ms: 0 }
    const isDue = dueIn !== null && dueIn <= 0
    if (isDue) await this.#tryAgain()
    const isOn = !this.#loop.isStopped && (await this.#goOn())
    return { ms: isDue || isOn ? 0 : Math.min(dueIn ?? look, look) }
  }

  async #makeDue(dueIn: number | null): Promise<void> {
    if (dueIn === null) return
    await this.#storage.transaction(() => this.#waiting.makeDue(this.#times.retries))
  }

  /** Adopts a moved cursor: events read in advance still come after it. */
  #follow(position: number): void {
    if (position !== this.#mark) this.#markedAt = performance.now()
    this.#mark = position
    this.#seen = Math.max(this.#seen, position)
    this.#ahead = this.#ahead.filter((event) => event.position > position)
  }

  async #tryAgain(): Promise<void> {
    const due = await this.#storage.maybeOne<DueEvent>(this.#waiting.due())
    if (due) await this.#attempt({ event: JSON.parse(due.event), attempts: due.attempts })
  }

  /** Resolves to whether more may be ready at once. */
  async #goOn(): Promise<boolean> {
    const [event] = this.#ahead
    if (event !== undefined) {
      await this.#attempt({ event })
      return true
    }
    const { events: read } = await this.#events.read({ after: this.#seen, limit: BATCH })
    this.#seen = read.at(-1)?.position ?? this.#seen
    this.#ahead = read.filter(({ type }) => this.#handlers.has(type) || this.#handlers.has('*'))
    if (this.#ahead.length > 0) return true
    // Events without a handler move the cursor only now and then: a second read costs less than a
    // write for each.
    const isTime = read.length === BATCH || performance.now() - this.#markedAt >= this.#times.look
    if (this.#seen > this.#mark && isTime) {
      await this.#storage.transaction(() => this.#subscription.advance(this.#mark, this.#seen))
    }
    return read.length > 0
  }

  /** @throws {unknown} if the database fails; nothing has changed then */
  async #attempt(turn: Turn): Promise<void> {
    try {
      await this.#storage.transaction(() => this.#take(turn))
    } catch (error) {
      if (this.#mayPass(turn, error)) throw error
      await this.#fail(turn, error)
    }
  }

  /** Stops if another host has handled the event, or an earlier one of its subject waits. */
  *#take(turn: Turn): Transaction<void> {
    const { event, attempts } = turn
    if (!(yield* this.#pass(turn))) return
    if (attempts !== undefined) {
      if (!(yield* this.#waiting.settle(event))) return
    } else if (yield* this.#waiting.hasSubject(event.subject)) {
      return yield* this.#waiting.queue(event)
    }
    for (const type of [event.type, '*']) {
      const react = this.#handlers.get(type)
      if (react === undefined) continue
      const steps = generatorOf(() => react(event))
      yield* event.traceparent === null ? steps : withTrace(steps, event.traceparent)
    }
  }

  *#setAside(turn: Turn, reason: string, delay: number | undefined): Transaction<void> {
    const { event, attempts } = turn
    if (!(yield* this.#pass(turn))) return
    if (attempts === undefined) yield* this.#waiting.queue(event)
    yield* this.#waiting.postpone(event, attempts ?? 0, reason, delay)
  }

  #pass({ event, attempts }: Turn): Transaction<boolean> {
    return this.#subscription.advance(this.#mark, attempts === undefined ? event.position : this.#mark)
  }

  #mayPass({ event: { position } }: Turn, error: unknown): boolean {
    if (!(error instanceof DatabaseError)) return false
    if (error.kind !== 'busy') return ['full', 'held', 'unavailable', 'unknown-outcome'].includes(error.kind)
    const times = position === this.#busy.position ? this.#busy.times + 1 : 1
    this.#busy = { position, times }
    return times % BUSY_LIMIT > 0
  }

  async #fail(turn: Turn, error: unknown): Promise<void> {
    const delay = pauseAfter(this.#times.retries, (turn.attempts ?? 0) + 1)
    const reason = errorText(error)
    await this.#storage.transaction(() => this.#setAside(turn, reason, delay))
    const { id, type, subject } = turn.event
    const next =
      delay === undefined
        ? 'it is now a dead letter: see app events'
        : `retry in ${Math.ceil(delay / 1000)} s`
    this.#log.error({ err: error, event: id, type, subject }, `an event handler failed; ${next}`)
  }
}
