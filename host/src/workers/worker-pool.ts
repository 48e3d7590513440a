import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { readConfig } from '../config.ts'
import type { ControlAnswer, ControlRequest } from '../control/call-running-host.ts'
import type { ApplicationState } from '../control/control-server.ts'
import { assertNoHost, openControlSocket } from '../control/control-socket.ts'
import { drainSecondsOf, stoppingMessage } from '../drain-seconds.ts'
import { createLogger } from '../logger.ts'
import { mergeStates } from './merge-states.ts'
import { createPoolControl, RestartError } from './pool-control.ts'
import { type WorkerEndedError, WorkerProcess } from './worker-process.ts'

/** Whoever has served for so long, in milliseconds, ends for another reason than the one before it. */
const STEADY_AFTER = 30_000
/** How long the place of one that has ended stays empty: at first, and after several in a row, in milliseconds. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** So many ends in a row, with nobody left who serves, end the parent. */
const MOST_ENDS = 6

export interface WorkerPoolOptions {
  /** The application folder. */
  readonly directory: string
  /** How many processes are to serve. */
  readonly count: number
  /** What each of them runs. */
  readonly program: string
  readonly arguments: readonly string[]
  /** Ends the start, as long as not all serve; afterwards it has no effect. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Several processes that serve one application on one port, each a whole host, and the parent that replaces those that
 * end. The parent takes connections and hands them out in turn (`node:cluster`), which loses none: one that a worker
 * does not take any more goes to the next. It has the control socket and asks all workers; what modules do, it never
 * loads.
 */
export class WorkerPool {
  readonly #count: number
  readonly #log: FastifyBaseLogger
  readonly #control: FastifyInstance
  readonly #workers = new Set<WorkerProcess>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #abandoned = new AbortController()
  readonly #drained = new AbortController()
  readonly #drainSeconds: number
  #url = ''
  #ends = 0
  #restarting = false
  #stopping: Promise<void> | undefined

  private constructor(count: number, log: FastifyBaseLogger, drainSeconds: number) {
    this.#count = count
    this.#log = log
    this.#drainSeconds = drainSeconds
    this.#closed.promise.catch(() => {})
    this.#control = createPoolControl(this)
  }

  /**
   * Resolves when all serve that can.
   * @throws {WorkerEndedError} where the first cannot
   * @throws {StorageBusyError} where a host runs the application in this folder already
   * @throws the reason of `signal`
   */
  static async start({
    directory,
    count,
    program,
    signal,
    ...options
  }: WorkerPoolOptions): Promise<WorkerPool> {
    const config = await readConfig(directory)
    await assertNoHost(directory)
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: program, args: [...options.arguments] })
    const pool = new WorkerPool(count, createLogger(config.log), drainSecondsOf(config))
    const abort = () => void pool.close()
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      // Alone: it migrates, and what keeps it from serving keeps all.
      await pool.#fork().serving
      signal?.throwIfAborted()
      await Promise.allSettled(Array.from({ length: count - 1 }, () => pool.#fork().serving))
      signal?.throwIfAborted()
      await openControlSocket(pool.#control, directory)
      return pool
    } catch (error) {
      await pool.close()
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** The address that all serve on, base path included. */
  get url(): string {
    return this.#url
  }

  /** Resolves when all have stopped. Rejects with a WorkerEndedError where none can be kept alive. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /** What they have in common, and what is worst of any; undefined where none serves just now. */
  async state(): Promise<ApplicationState | undefined> {
    const answers = await this.askAll({ method: 'GET', path: '/state' })
    const states = answers.flatMap(({ status, body }) => (status === 200 ? [body as ApplicationState] : []))
    return states.length === 0 ? undefined : mergeStates(states)
  }

  /** Asks one that serves; undefined where there is none. */
  async askOne(request: ControlRequest): Promise<ControlAnswer | undefined> {
    const [first] = await this.#serving()
    return first?.ask(request)
  }

  /**
   * Asks all that are there now, those that have just begun too. Who ends meanwhile although nobody told it to is
   * answered for with a 500; nobody else is left out.
   */
  async askAll(request: ControlRequest): Promise<ControlAnswer[]> {
    const answers = await Promise.all(
      (await this.#serving()).map((worker) =>
        worker.ask(request).catch((error: Error) => {
          if (worker.isDismissed) return undefined
          return { status: 500, body: { reason: error.message } }
        }),
      ),
    )
    return answers.filter((answer) => answer !== undefined)
  }

  /**
   * Replaces all processes one after the other: the next one serves before the former lets its callers go.
   * @returns how many
   * @throws {RestartError} where a new one does not serve as the former do; those that are left go on
   */
  async restart(): Promise<number> {
    if (this.#restarting) throw new RestartError('its processes are being replaced already')
    this.#restarting = true
    try {
      const former = (await this.#serving()).filter((worker) => !worker.isDismissed)
      for (const worker of former) await this.#replace(worker)
      return former.length
    } finally {
      this.#restarting = false
    }
  }

  /** All take requests for a while, and finish what they have begun; see `Application.stop`. */
  stop(why: string): Promise<void> {
    this.#stopping ??= this.#drain(why)
    return this.#stopping
  }

  /** All finish what they have begun; see `Application.close`. */
  close(): Promise<void> {
    this.#stopping ??= this.#end().then(() => this.#closed.resolve())
    return this.#stopping
  }

  /** Has all end at once, with what they have begun cut off. */
  cut(): Promise<void> {
    this.#drained.abort()
    for (const worker of this.#workers) worker.cut()
    return this.close()
  }

  async #drain(why: string): Promise<void> {
    const [drainSeconds, count] = [this.#drainSeconds, this.#workers.size]
    this.#log.info({ signal: why, drainSeconds }, stoppingMessage(why, drainSeconds))
    await this.#end(why, drainSeconds)
    this.#log.info(`stopped: ${count} processes have ended`)
    this.#closed.resolve()
  }

  async #end(why?: string, drainSeconds = 0): Promise<void> {
    this.#abandoned.abort()
    const ended = [...this.#workers].map((worker) => worker.stop(why, drainSeconds))
    if (drainSeconds > 0)
      await pause(drainSeconds * 1000, undefined, { signal: this.#drained.signal }).catch(() => {})
    // Who waits for an answer is given one by the end of the workers.
    await Promise.all([this.#control.close(), ...ended])
  }

  /** Waits for those that have begun, and leaves out who does not get there: its successor reads the lock anew. */
  async #serving(): Promise<WorkerProcess[]> {
    const workers = [...this.#workers]
    const started = await Promise.allSettled(workers.map((worker) => worker.serving))
    return workers.filter((_worker, index) => started[index]?.status === 'fulfilled')
  }

  #fork(): WorkerProcess {
    const worker = new WorkerProcess()
    this.#workers.add(worker)
    worker.serving.then(
      (url) => {
        this.#url = url
      },
      () => {},
    )
    void worker.ended.then((end) => this.#lost(worker, end))
    return worker
  }

  /** Has another one take the place of a worker that has ended, unless it is taken. */
  async #lost(worker: WorkerProcess, end: WorkerEndedError): Promise<void> {
    this.#workers.delete(worker)
    if (this.#stopping !== undefined || this.#url === '') return
    if (!worker.isDismissed) {
      this.#ends = worker.servedFor > STEADY_AFTER ? 1 : this.#ends + 1
      if (this.#ends >= MOST_ENDS && ![...this.#workers].some(({ isServing }) => isServing)) {
        this.#stopping = this.#end().then(() => this.#closed.reject(end))
        return
      }
      const wait = Math.min(FIRST_PAUSE * 2 ** (this.#ends - 1), LONGEST_PAUSE)
      this.#log.error(`${end.message}; another one takes its place in ${wait} ms`)
      await pause(wait, undefined, { signal: this.#abandoned.signal }).catch(() => {})
    }
    if (this.#stopping === undefined && this.#workers.size < this.#count) this.#fork()
  }

  async #replace(worker: WorkerProcess): Promise<void> {
    if (this.#stopping !== undefined) throw new RestartError('it is shutting down')
    const next = this.#fork()
    try {
      await next.serving
      await assertAsGood(worker, next)
    } catch (error) {
      await next.stop()
      throw new RestartError(`the process that was to take over does not serve: ${(error as Error).message}`)
    }
    this.#log.info(`process ${next.pid} takes over from ${worker.pid}`)
    await worker.leave()
  }
}

/** A module that works in the former must work in the next: a newer host, say, may not be one that it runs on. */
async function assertAsGood(former: WorkerProcess, next: WorkerProcess): Promise<void> {
  const request = { method: 'GET', path: '/state' } as const
  const [before, after] = await Promise.all([former.ask(request), next.ask(request)])
  const { modules } = before.body as ApplicationState
  const works = new Set(modules.filter(({ state }) => state === 'active').map(({ id }) => id))
  for (const { id, state, reason } of (after.body as ApplicationState).modules) {
    if (state === 'failed' && works.has(id)) throw new Error(`${id} fails in it: ${reason}`)
  }
}
