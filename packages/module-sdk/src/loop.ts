import type { FastifyBaseLogger } from 'fastify'
import { isLoggedElsewhere } from './transaction.ts'

/** Nothing to do for this long; with `deaf`, even after a wake-up. */
export interface Rest {
  /** In milliseconds. */
  readonly ms: number
  readonly deaf?: boolean
}

/** What a loop does, and what it does after a failure. */
export interface LoopOptions {
  /** Resolves to when the next step is due. If it rejects, the loop tries again. */
  readonly step: () => Promise<Rest>
  readonly log: FastifyBaseLogger
  /** What the log says when a step or a task rejects: `mail cannot be sent`. */
  readonly trouble: string
  /** How long to wait then, in milliseconds. */
  readonly pause?: number | undefined
  /** How long `stop` waits for tasks before it aborts them, in milliseconds. */
  readonly patience?: number | undefined
}

/**
 * Runs one step after the other in the background, and beside them the tasks that they start, until
 * it is stopped. It is for a module with its own queue: others need only `context.work`.
 */
export class Loop {
  readonly #options: LoopOptions
  readonly #tasks = new Set<Promise<void>>()
  readonly #end = new AbortController()
  #running: Promise<void> | undefined
  #stopped = false
  #woken = false
  #deaf = false
  #isInTrouble = false
  #endRest = () => {}
  #waiting: (() => void)[] = []

  constructor(options: LoopOptions) {
    this.#options = options
  }

  get isStopped(): boolean {
    return this.#stopped
  }

  /** The number of tasks in progress. */
  get tasks(): number {
    return this.#tasks.size
  }

  begin(): void {
    this.#running ??= this.#run()
  }

  /** Reports that there may be work. */
  wake(): void {
    this.#woken = true
    if (!this.#deaf) this.#endRest()
  }

  /**
   * Begins a task, whose end wakes the loop.
   * @param task its signal is aborted when the task takes too long to stop
   * @param about is logged if it rejects
   */
  start(task: (signal: AbortSignal) => Promise<void>, about?: object): void {
    const running = task(this.#end.signal)
      .catch((error) => this.report(error, about))
      .finally(() => {
        this.#tasks.delete(running)
        this.wake()
      })
    this.#tasks.add(running)
  }

  /** Logs a problem, once until a step succeeds. */
  report(error: unknown, about: object = {}): void {
    const level = this.#isInTrouble || isLoggedElsewhere(error) ? 'debug' : 'warn'
    this.#isInTrouble ||= level === 'warn'
    this.#options.log[level]({ err: error, ...about }, `${this.#options.trouble}; the host tries again`)
  }

  /** Resolves when no task runs, and a step that begins from now on finds no work. */
  idle(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.wake()
    return promise
  }

  /** Starts nothing more. Resolves when the current step and the tasks have ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#endRest()
    await this.#running
    const abort = () => this.#end.abort(new Error('the module stops serving'))
    const timer = setTimeout(abort, this.#options.patience ?? 3_000)
    await Promise.all(this.#tasks)
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false
      const waiting = this.#waiting
      this.#waiting = []
      const { ms, deaf = false } = await this.#step()
      this.#deaf = deaf
      if (ms > 0 && !deaf && !this.#woken && this.tasks === 0) for (const resolve of waiting) resolve()
      else this.#waiting.push(...waiting)
      if (ms > 0 && !this.#stopped && (deaf || !this.#woken)) await this.#rest(ms)
    }
    for (const resolve of this.#waiting) resolve()
  }

  async #step(): Promise<Rest> {
    try {
      const rest = await this.#options.step()
      this.#isInTrouble = false
      return rest
    } catch (error) {
      this.report(error)
      return { ms: this.#options.pause ?? 1_000, deaf: true }
    }
  }

  #rest(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms).unref()
    this.#endRest = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }
}
