import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { readConfig } from '../../config/config.ts'
import { drainSecondsOf, stoppingMessage } from '../../config/drain-seconds.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { type ApplicationState, mergeStates } from '../application-state.ts'
import { assertNoHost, openControlSocket } from '../control-socket.ts'
import { RefusedError } from '../operation.ts'
import type { ControlRequest, ControlResponse } from '../pool.ts'
import { createPoolControl } from './pool-control.ts'
import { type WorkerEndedError, WorkerProcess, workerStdio } from './worker-process.ts'

/**
 * After so many seconds of silence a worker is not waited for: where somebody only looks, and where something changes.
 * One that is stopped is replaced before the latter.
 */
const SILENT = 2
const SILENT_IN_CHANGE = 12
/** Whoever has served for so long, in milliseconds, ends for another reason than the one before it. */
const STEADY_AFTER = 30_000
/** How long the place of one that has ended stays empty: at first, and after several in a row, in milliseconds. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** So many ends in a row, with nobody left who serves, end the parent. */
const MOST_ENDS = 6

interface WorkerPoolOptions {
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
  readonly #timer: NodeJS.Timeout
  #told = 0
  #url = ''
  #ends = 0
  #restarting = false
  #stopping: Promise<void> | undefined

  private constructor(count: number, log: FastifyBaseLogger, drainSeconds: number) {
    this.#count = count
    this.#log = log
    this.#drainSeconds = drainSeconds
    this.#closed.promise.catch(() => {}).finally(() => clearInterval(this.#timer))
    this.#timer = setInterval(() => this.#look(), 1_000)
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
    cluster.setupPrimary({ exec: program, args: [...options.arguments], stdio: [...workerStdio] })
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
    const answers = await this.askAll(stateRequest)
    const states = answers.flatMap(({ status, body }) => (status === 200 ? [body as ApplicationState] : []))
    return states.length === 0 ? undefined : mergeStates(states, this.silent)
  }

  /** The processes that serve and are silent just now. */
  get silent(): readonly number[] {
    const silent = [...this.#workers].filter(({ isServing, silentFor }) => isServing && silentFor >= SILENT)
    return silent.map(({ pid }) => pid as number)
  }

  /** How many processes serve. */
  get serving(): number {
    return [...this.#workers].filter(({ isServing }) => isServing).length
  }

  /** Asks the one that serves and was silent least; undefined where there is none. */
  async askOne(request: ControlRequest): Promise<ControlResponse | undefined> {
    const isRead = request.method === 'GET'
    let answer: ControlResponse | undefined
    for (const worker of (await this.#able()).sort((one, other) => one.silentFor - other.silentFor)) {
      answer = await this.#ask(worker, request, isRead ? SILENT : SILENT_IN_CHANGE)
      // It may be done by the one that was silent, if it is no read.
      if (!isRead || (answer !== undefined && answer.status !== 504)) break
    }
    return answer
  }

  /**
   * Asks all that are there now, those that have just begun too, unless somebody only looks. Who ends meanwhile although
   * nobody told it to is answered for with a 500, who is silent with a 504; nobody else is left out.
   */
  async askAll(request: ControlRequest): Promise<ControlResponse[]> {
    const isGlance = request.method === 'GET'
    const asked = isGlance ? await this.#able() : [...this.#workers]
    const limit = isGlance ? SILENT : SILENT_IN_CHANGE
    const answers = await Promise.all(asked.map((worker) => this.#ask(worker, request, limit)))
    return answers.filter((answer) => answer !== undefined)
  }

  /** Undefined where it does not get to serve, or is replaced: its successor reads the lock anew. */
  async #ask(
    worker: WorkerProcess,
    request: ControlRequest,
    limit: number,
  ): Promise<ControlResponse | undefined> {
    const abandoned = new AbortController()
    const isGone = () => worker.isDismissed || worker.wasSilent
    try {
      return await Promise.race([
        worker.serving.then(
          () =>
            worker.ask(request).catch((error: Error) => {
              if (isGone()) return undefined
              return { status: 500, body: { reason: error.message } }
            }),
          () => undefined,
        ),
        this.#silence(worker, limit, abandoned.signal),
      ])
    } finally {
      abandoned.abort()
    }
  }

  /** Resolves once a worker is silent for so many seconds. */
  async #silence(worker: WorkerProcess, limit: number, signal: AbortSignal): Promise<ControlResponse> {
    while (worker.silentFor < limit) await pause(250, undefined, { signal })
    const reason = `process ${worker.pid} has not answered for ${worker.silentFor} s`
    return { status: 504, body: { reason, pid: worker.pid } }
  }

  #look(): void {
    for (const worker of this.#workers) worker.tick()
    const silent = this.silent.length
    if (silent === this.#told) return
    this.#told = silent
    for (const worker of this.#workers) worker.tellSilent(silent)
  }

  /**
   * Replaces all processes one after the other: the next one serves before the former lets its callers go.
   * @returns how many
   * @throws {RefusedError} where a new one does not serve as the former do; those that are left go on
   */
  async restart(): Promise<number> {
    if (this.#restarting) throw new RefusedError('its processes are being replaced already')
    this.#restarting = true
    try {
      const former = (await this.#serving()).filter((worker) => !worker.isDismissed)
      // One that has ended meanwhile has a successor already.
      for (const worker of former) if (this.#workers.has(worker)) await this.#replace(worker)
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
    const closed = this.#control.close()
    await Promise.all(ended)
    // Who waits for an answer is given one by the end of the workers. A command that is stopped is not waited for.
    await settlesWithin(1_000, closed)
    this.#control.server.closeAllConnections()
    await closed
  }

  /** Those that serve; where none does, those that have begun, once they do. */
  async #able(): Promise<WorkerProcess[]> {
    const serving = [...this.#workers].filter(({ isServing }) => isServing)
    return serving.length > 0 ? serving : await this.#serving()
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
    if (this.#stopping !== undefined) throw new RefusedError('it is shutting down')
    const next = this.#fork()
    try {
      await next.serving
      const before = await this.#ask(worker, stateRequest, SILENT)
      assertAsGood(before, await this.#ask(next, stateRequest, SILENT_IN_CHANGE))
    } catch (error) {
      await next.stop()
      throw new RefusedError(`the process that was to take over does not serve: ${(error as Error).message}`)
    }
    this.#log.info(`process ${next.pid} takes over from ${worker.pid}`)
    await worker.leave()
  }
}

const stateRequest = { method: 'GET', path: '/state' } as const

/** A module that works in the former must work in the next: a newer host, say, may not be one that it runs on. */
function assertAsGood(before: ControlResponse | undefined, after: ControlResponse | undefined): void {
  // What is silent says nothing of its modules.
  if (before?.status !== 200) return
  if (after?.status !== 200) throw new Error('it does not answer')
  const { modules } = before.body as ApplicationState
  const works = new Set(modules.filter(({ state }) => state === 'active').map(({ id }) => id))
  for (const { id, state, reason } of (after.body as ApplicationState).modules) {
    if (state === 'failed' && works.has(id)) throw new Error(`${id} fails in it: ${reason}`)
  }
}
