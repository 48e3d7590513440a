import { setTimeout as pause } from 'node:timers/promises'
import {
  ClockWatch,
  DatabaseError,
  databaseTime,
  type Job,
  Loop,
  newId,
  type Perform,
  pauseAfter,
  type Rest,
  type Transaction,
  type Work,
  type WorkOptions,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import { nextTime } from './cron.ts'
import { errorText } from './error-text.ts'
import { type HandlerTimes, handlerTimes } from './handler-times.ts'
import { JobQueue, type LeasedJob, type QueueState } from './job-queries.ts'
import { hostSteps } from './map-emissions.ts'

/** The size limit for the data of a job, in bytes of JSON. */
const MAX_DATA = 256 * 1024
const CONCURRENCY = 4
const TIMEOUT = 60_000
/** How often to look for jobs that another host has stored, in milliseconds. */
const LOOK = 1_000
/** How soon after a job is added to look for it: its transaction is about to commit. */
const SOON = 10

/** Shared by all generations of a process. */
const thisProcess = newId('process')

export interface WorkLoopOptions {
  readonly module: string
  readonly name: string
  readonly options: WorkOptions
  readonly perform: Perform<unknown>
  readonly storage: Storage
  readonly log: FastifyBaseLogger
  readonly holder?: string
  readonly times?: HandlerTimes
  readonly patience?: number
}

/** An attempt in progress. */
interface Attempt {
  readonly controller: AbortController
  /** By `performance.now()`: no other host has the job before. */
  heldUntil: number
}

interface Failure {
  readonly error: unknown
  /** The host has interrupted the attempt: it does not count. */
  readonly isInterrupted: boolean
}

/** How an attempt ended. */
interface Outcome {
  /** Failed attempts so far. */
  readonly attempts: number
  readonly error: string | null
  /** Until the next attempt, in milliseconds; undefined without one. */
  readonly delay?: number | undefined
}

/**
 * Does the jobs of one work, several at a time. A transaction leases a job, the attempt runs outside
 * of any transaction, and a second transaction writes its outcome. The lease is extended while the
 * process reaches the database. When it expires another host may do the job again, perhaps beside an
 * attempt that has not noticed: jobs happen at least once.
 */
export class WorkLoop {
  readonly #options: WorkLoopOptions
  readonly #storage: Storage
  readonly #queue: JobQueue
  readonly #times: HandlerTimes
  readonly #log: FastifyBaseLogger
  readonly #holder: string
  readonly #loop: Loop
  readonly #clock = new ClockWatch()
  /** The attempts in progress, by lease. */
  readonly #attempts = new Map<string, Attempt>()
  #heartbeat: NodeJS.Timeout | undefined

  constructor(options: WorkLoopOptions) {
    this.#options = options
    this.#storage = options.storage
    this.#log = options.log
    this.#times = options.times ?? handlerTimes
    this.#holder = options.holder ?? thisProcess
    this.#queue = new JobQueue(options.module, options.name, this.#times.term)
    this.#loop = new Loop({
      step: () => this.#step(),
      log: options.log,
      trouble: `jobs of "${options.name}" cannot run`,
      pause: this.#times.pause,
      patience: options.patience,
    })
    // An invalid expression is refused before the module serves.
    if (options.options.schedule !== undefined) nextTime(options.options.schedule, 0)
  }

  get module(): string {
    return this.#options.module
  }

  /** What the module adds jobs with. */
  get handle(): Work<unknown> {
    const { name } = this.#options
    const insert = hostSteps.of((id: string, data: string, at?: number) => this.#queue.insert(id, data, at))
    const soon = () => setTimeout(() => this.#loop.wake(), SOON).unref()
    return {
      *add(data, { at } = {}) {
        const json = JSON.stringify(data) as string | undefined
        if (json === undefined) throw new TypeError(`the data of a job of "${name}" are no JSON`)
        if (Buffer.byteLength(json) > MAX_DATA) {
          throw new TypeError(`the data of a job of "${name}" exceed ${MAX_DATA} bytes: add an id for lookup`)
        }
        const id = newId('job')
        yield* insert(id, json, at)
        soon()
        return id
      },
    }
  }

  /** Call it when the module serves. */
  begin(): void {
    if (this.#loop.isStopped) return
    this.#heartbeat = setInterval(() => void this.#extend(), this.#times.term / 3).unref()
    this.#loop.begin()
  }

  /** Resolves when all due jobs are done, or wait for a retry. */
  idle(): Promise<void> {
    return this.#loop.idle()
  }

  /** Starts nothing more. Jobs that do not end soon are aborted, and left to the next generation. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    clearInterval(this.#heartbeat)
  }

  async #step(): Promise<Rest> {
    const { now, dueIn, hasLost } = await this.#storage.one<QueueState>(this.#queue.state())
    if (await this.#clock.watch(now, () => this.#storage.transaction(() => this.#prepare()))) return { ms: 0 }
    const free = (this.#options.options.concurrency ?? CONCURRENCY) - this.#attempts.size
    if (hasLost) {
      await this.#storage.transaction(() => this.#queue.takeOver())
    } else if (free <= 0 || dueIn === null || dueIn > 0) {
      return { ms: Math.min(free > 0 ? (dueIn ?? LOOK) : LOOK, LOOK) }
    }
    const leases = Array.from({ length: Math.max(free, 0) }, () => newId('lease'))
    const heldUntil = performance.now() + this.#times.term
    for (const job of await this.#storage.transaction(() => this.#queue.lease(this.#holder, leases))) {
      this.#begin(job, heldUntil)
    }
    return { ms: 0 }
  }

  /** At the start, and when the clock went back. */
  *#prepare(): Transaction<void> {
    const { schedule } = this.#options.options
    if (!this.#storage.isShared) yield* this.#queue.takeOverFromOthers(this.#holder)
    const next = schedule === undefined ? 0 : nextTime(schedule, yield* databaseTime())
    yield* this.#queue.schedule(schedule, next, newId('job'))
    yield* this.#queue.makeDue(this.#times.retries)
  }

  #begin(job: LeasedJob, heldUntil: number): void {
    const controller = new AbortController()
    this.#attempts.set(job.lease, { controller, heldUntil })
    this.#loop.start((stops) =>
      this.#attempt(job, controller, stops).finally(() => this.#attempts.delete(job.lease)),
    )
  }

  async #attempt(job: LeasedJob, controller: AbortController, stops: AbortSignal): Promise<void> {
    const { perform, options } = this.#options
    const { id, attempts: attempt } = job
    const milliseconds = options.timeout ?? TIMEOUT
    const timer = setTimeout(
      () => controller.abort(new Error(`it took longer than ${milliseconds} ms`)),
      milliseconds,
    )
    const signal = AbortSignal.any([controller.signal, stops])
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    const arguments_: Job = {
      id,
      data: JSON.parse(job.data),
      attempt,
      signal,
      log: this.#log.child({ job: id }),
    }
    let failure: Failure | undefined
    try {
      // Each attempt so far has ended with its process, or could not store its end.
      if (attempt > this.#times.retries.length + 1)
        throw new Error('no attempt has come to its end: each time the process died, or lost the database')
      // Not called at once: what it throws before its first await is a failure of the job as well.
      await Promise.race([Promise.resolve().then(() => perform(arguments_)), aborted])
    } catch (error) {
      const isStop = stops.aborted && error === stops.reason
      failure = { error, isInterrupted: isStop || error instanceof EndedLease }
    } finally {
      clearTimeout(timer)
      aborted.catch(() => {})
    }
    await this.#settle(job, failure)
  }

  /** Writes the outcome, for as long as the lease is extended. */
  async #settle(job: LeasedJob, failure: Failure | undefined): Promise<void> {
    if (this.#hasLost(job)) return
    const outcome = this.#outcomeOf(job, failure)
    let { onFailed } = this.#options.options
    for (;;) {
      try {
        const held = await this.#storage.transaction(() => this.#write(job, outcome, onFailed))
        if (held === 0) this.#log.warn({ job: job.id }, 'another host has taken this job over')
        return
      } catch (error) {
        this.#loop.report(error, { job: job.id })
        // A defect of the module: the job has failed all the same.
        if (!isPassing(error)) onFailed = undefined
        if (this.#loop.isStopped || this.#hasLost(job)) return
        await pause(this.#times.pause)
      }
    }
  }

  #hasLost({ lease }: LeasedJob): boolean {
    return this.#attempts.get(lease)?.controller.signal.reason instanceof LostLease
  }

  #outcomeOf({ id, attempts }: LeasedJob, failure: Failure | undefined): Outcome {
    if (failure === undefined) return { attempts: 0, error: null }
    if (failure.isInterrupted) return { attempts: attempts - 1, error: null, delay: 0 }
    const { options, name } = this.#options
    const delay = pauseAfter(this.#times.retries, attempts)
    const last =
      options.schedule === undefined ? 'it is left to "app work"' : 'it is due again by its schedule'
    const next = delay === undefined ? last : `retry in ${Math.ceil(delay / 1000)} s`
    this.#log.error({ err: failure.error, job: id, work: name }, `a job failed; ${next}`)
    return { attempts: delay === undefined ? 0 : attempts, error: errorText(failure.error), delay }
  }

  *#write(
    job: LeasedJob,
    { delay, ...outcome }: Outcome,
    onFailed: WorkOptions['onFailed'],
  ): Transaction<number> {
    const { schedule } = this.#options.options
    const now = yield* databaseTime()
    if (delay !== undefined) return yield* this.#queue.again(job, now + delay, outcome)
    if (schedule !== undefined) {
      const dueAt = nextTime(schedule, now)
      return yield* this.#queue.next(job, { id: newId('job'), dueAt, error: outcome.error })
    }
    if (outcome.error === null) return yield* this.#queue.end(job)
    const held = yield* this.#queue.fail(job, outcome.error)
    if (held === 1 && onFailed)
      yield* onFailed({ id: job.id, data: JSON.parse(job.data), error: outcome.error })
    return held
  }

  async #extend(): Promise<void> {
    const leases = [...this.#attempts.keys()]
    if (leases.length === 0) return
    const heldUntil = performance.now() + this.#times.term
    try {
      const kept = new Set(await this.#storage.transaction(() => this.#queue.extend(leases)))
      for (const lease of leases) {
        const attempt = this.#attempts.get(lease)
        if (!kept.has(lease)) attempt?.controller.abort(new LostLease())
        else if (attempt) attempt.heldUntil = heldUntil
      }
    } catch (error) {
      this.#loop.report(error)
      this.#abortEnded()
    }
  }

  /** Another host may have taken the job over. */
  #abortEnded(): void {
    if (!this.#storage.isShared) return
    const now = performance.now()
    for (const { controller, heldUntil } of this.#attempts.values()) {
      if (now > heldUntil) controller.abort(new EndedLease())
    }
  }
}

/** Whether the database may take the same steps later. */
const isPassing = (error: unknown) =>
  error instanceof DatabaseError &&
  ['busy', 'unavailable', 'full', 'held', 'unknown-outcome'].includes(error.kind)

/** This process stood still for so long that another host took the job over. */
class LostLease extends Error {
  override readonly message = 'another host has taken this job over'
}

/** This process cannot reach the database, and another host may. */
class EndedLease extends Error {
  override readonly message = 'the database is unreachable, so another host may take this job over'
}
