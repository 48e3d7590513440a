import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { readConfig } from '../../config/config.ts'
import { drainSecondsOf, stoppingMessage } from '../../config/drain-seconds.ts'
import { assertPortFree } from '../../http/assert-port-free.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { type ApplicationState, mergeStates } from '../application-state.ts'
import { ControlListener } from '../control-listener.ts'
import { RefusedError } from '../operation.ts'
import type { ControlRequest, ControlResponse } from '../pool.ts'
import { createPoolControl } from './pool-control.ts'
import { type WorkerEndedError, WorkerProcess, workerStdio } from './worker-process.ts'

/**
 * After this many seconds of silence nothing waits for a worker: for reads, and for changes. A
 * change also replaces a stopped worker first.
 */
const SILENT = 2
const SILENT_IN_CHANGE = 12
/** A worker that has served this long, in milliseconds, does not end for the previous reason. */
const STEADY_AFTER = 30_000
/** The pauses before a worker is replaced, in milliseconds: the first, and the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** This many ends in a row without a serving worker end the parent. */
const MOST_ENDS = 6

interface WorkerPoolOptions {
  readonly directory: string
  readonly count: number
  /** The program that each of them runs. */
  readonly program: string
  readonly arguments: readonly string[]
  /** Override the settings. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** Cancels the start until all serve; no effect afterwards. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Several processes that serve one application on one port, each a complete host, and the parent
 * that replaces those that end. The parent accepts connections and hands them out in turn
 * (`node:cluster`) without a loss: one that a worker no longer accepts goes to the next. The parent
 * has the control socket and calls all workers; it never loads module code.
 */
export class WorkerPool {
  readonly #count: number
  readonly #log: FastifyBaseLogger
  readonly #listener: ControlListener
  readonly #control: FastifyInstance
  readonly #workers = new Set<WorkerProcess>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #abandoned = new AbortController()
  readonly #drained = new AbortController()
  readonly #drainSeconds: number
  readonly #timer: NodeJS.Timeout
  #reported = 0
  #url = ''
  #ends = 0
  #restarting = false
  #stopping: Promise<void> | undefined

  private constructor(
    listener: ControlListener,
    count: number,
    log: FastifyBaseLogger,
    drainSeconds: number,
  ) {
    this.#listener = listener
    this.#count = count
    this.#log = log
    this.#drainSeconds = drainSeconds
    this.#closed.promise.catch(() => {}).finally(() => clearInterval(this.#timer))
    this.#timer = setInterval(() => this.#look(), 1_000)
    this.#control = createPoolControl(this)
  }

  /**
   * Resolves when all possible workers serve.
   * @throws {WorkerEndedError} if the first one fails
   * @throws {StorageBusyError} if a host already serves the application in this folder
   * @throws the reason of `signal`
   */
  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const listener = await ControlListener.open(options.directory)
    try {
      return await WorkerPool.#start(options, listener)
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  static async #start(
    { directory, count, program, port, host, signal, ...options }: WorkerPoolOptions,
    listener: ControlListener,
  ): Promise<WorkerPool> {
    const config = await readConfig(directory)
    const { server } = config
    await assertPortFree({ port: port ?? server.port, host: host ?? server.host })
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: program, args: [...options.arguments], stdio: [...workerStdio] })
    const pool = new WorkerPool(listener, count, createLogger(config.log), drainSecondsOf(config))
    const abort = () => void pool.close()
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      // Starts alone: it migrates, and its failure would be the failure of all.
      await pool.#fork().serving
      signal?.throwIfAborted()
      await Promise.allSettled(Array.from({ length: count - 1 }, () => pool.#fork().serving))
      signal?.throwIfAborted()
      await listener.serve(pool.#control)
      return pool
    } catch (error) {
      await pool.close()
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** The URL that all serve on, base path included. */
  get url(): string {
    return this.#url
  }

  /** Resolves when all have stopped. Rejects with a WorkerEndedError if none can be kept alive. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /** The common state, with the worst of each worker; undefined if none serves now. */
  async state(): Promise<ApplicationState | undefined> {
    const answers = await this.askAll(stateRequest)
    const states = answers.flatMap(({ status, body }) => (status === 200 ? [body as ApplicationState] : []))
    return states.length === 0 ? undefined : mergeStates(states, this.silent)
  }

  /** The serving processes that are silent now. */
  get silent(): readonly number[] {
    const silent = this.#atWork.filter(({ silentFor }) => silentFor >= SILENT)
    return silent.map(({ pid }) => pid as number)
  }

  /** The number of serving processes. */
  get serving(): number {
    return this.#atWork.length
  }

  get #atWork(): WorkerProcess[] {
    return [...this.#workers].filter(({ isServing }) => isServing)
  }

  /** Calls the serving worker with the shortest silence; undefined without one. */
  async askOne(request: ControlRequest): Promise<ControlResponse | undefined> {
    const isRead = request.method === 'GET'
    let answer: ControlResponse | undefined
    for (const worker of (await this.#able()).sort((one, other) => one.silentFor - other.silentFor)) {
      answer = await this.#ask(worker, request, isRead ? SILENT : SILENT_IN_CHANGE)
      // A silent worker may still do a request that is no read.
      if (!isRead || (answer !== undefined && answer.status !== 504)) break
    }
    return answer
  }

  /**
   * Calls all current workers, also those that have just started unless the request is a read. A
   * worker that ends unexpectedly counts as a 500, a silent one as a 504; no other worker is left
   * out.
   */
  async askAll(request: ControlRequest, waits = false): Promise<ControlResponse[]> {
    const isGlance = request.method === 'GET'
    const asked = isGlance ? await this.#able() : [...this.#workers]
    const limit = waits ? Number.POSITIVE_INFINITY : isGlance ? SILENT : SILENT_IN_CHANGE
    const answers = await Promise.all(asked.map((worker) => this.#ask(worker, request, limit)))
    return answers.filter((answer) => answer !== undefined)
  }

  /** Undefined if it never serves or is replaced: its successor reads the lock file. */
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

  /** Resolves once a worker is silent for this many seconds. */
  async #silence(worker: WorkerProcess, limit: number, signal: AbortSignal): Promise<ControlResponse> {
    while (worker.silentFor < limit) await pause(250, undefined, { signal })
    const reason = `process ${worker.pid} has not responded for ${worker.silentFor} s`
    return { status: 504, body: { reason, pid: worker.pid } }
  }

  #look(): void {
    for (const worker of this.#workers) worker.tick()
    const silent = this.silent.length
    if (silent === this.#reported) return
    this.#reported = silent
    for (const worker of this.#workers) worker.reportSilent(silent)
  }

  /**
   * Each next one serves before the previous one releases its clients.
   * @throws {RefusedError} if a new one does not serve like the previous ones; the rest continue
   */
  async restart(): Promise<number> {
    if (this.#restarting) throw new RefusedError('a restart is already in progress')
    this.#restarting = true
    try {
      const previous = (await this.#serving()).filter((worker) => !worker.isDismissed)
      // A worker that has ended meanwhile has a successor already.
      for (const worker of previous) if (this.#workers.has(worker)) await this.#replace(worker)
      return previous.length
    } finally {
      this.#restarting = false
    }
  }

  /** All accept requests for a while, then finish those in progress. */
  stop(why: string): Promise<void> {
    this.#stopping ??= this.#drain(why)
    return this.#stopping
  }

  /** All finish their requests in progress; see `Application.close`. */
  close(): Promise<void> {
    this.#stopping ??= this.#end().then(() => this.#closed.resolve())
    return this.#stopping
  }

  /** Ends all at once and cuts off requests in progress. */
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
    this.#listener.hold()
    await Promise.all(ended)
    // The end of the workers gives waiting callers their response. A stopped command is not waited
    // for.
    await settlesWithin(1_000, this.#listener.idle())
    await this.#control.close()
    await this.#listener.close()
  }

  /** The serving workers; without any, the starting ones once they serve. */
  async #able(): Promise<WorkerProcess[]> {
    return this.serving > 0 ? this.#atWork : await this.#serving()
  }

  /** Waits for starting workers, without those that fail: their successors read the lock file. */
  async #serving(): Promise<WorkerProcess[]> {
    const workers = [...this.#workers]
    const started = await Promise.allSettled(workers.map((worker) => worker.serving))
    return workers.filter((_worker, index) => started[index]?.status === 'fulfilled')
  }

  #fork(): WorkerProcess {
    const worker = new WorkerProcess()
    this.#workers.add(worker)
    const serves = (url: string) => {
      this.#url = url
    }
    worker.serving.then(serves, () => {})
    void worker.ended.then((end) => this.#lost(worker, end))
    return worker
  }

  /** Replaces a worker that has ended, unless its place is taken. */
  async #lost(worker: WorkerProcess, end: WorkerEndedError): Promise<void> {
    this.#workers.delete(worker)
    if (this.#stopping !== undefined || this.#url === '') return
    if (!worker.isDismissed) {
      this.#ends = worker.servedFor > STEADY_AFTER ? 1 : this.#ends + 1
      if (this.#ends >= MOST_ENDS && this.serving === 0) {
        this.#stopping = this.#end().then(() => this.#closed.reject(end))
        return
      }
      const wait = Math.min(FIRST_PAUSE * 2 ** (this.#ends - 1), LONGEST_PAUSE)
      this.#log.error(`${end.message}; a new process starts in ${wait} ms`)
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
      throw new RefusedError(`the new process does not serve: ${(error as Error).message}`)
    }
    this.#log.info(`process ${next.pid} replaces ${worker.pid}`)
    await worker.leave()
  }
}

const stateRequest = { method: 'GET', path: '/state' } as const

/** A module may work in the previous worker but not in the next, with a newer host. */
function assertAsGood(before: ControlResponse | undefined, after: ControlResponse | undefined): void {
  // A silent worker reports no modules.
  if (before?.status !== 200) return
  if (after?.status !== 200) throw new Error('it does not respond')
  const { modules } = before.body as ApplicationState
  const works = new Set(modules.filter(({ state }) => state === 'active').map(({ id }) => id))
  for (const { id, state, reason } of (after.body as ApplicationState).modules) {
    if (state === 'failed' && works.has(id)) throw new Error(`${id} fails in it: ${reason}`)
  }
}
