import cluster from 'node:cluster'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { drainSecondsOf, readConfig, stoppingMessage } from '@mortise/application'
import type { FastifyBaseLogger } from 'fastify'
import { freePort } from '../../http/free-port.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { ControlListener } from '../control-listener.ts'
import { RefusedError } from '../operation.ts'
import { assertAsGood, stateOfWorker } from './assert-as-good.ts'
import { type WorkerEndedError, WorkerProcess, workerStdio } from './worker-process.ts'

/** A worker that has served this long, in milliseconds, does not end for the previous reason. */
const STEADY_AFTER = 30_000
/** The pauses before a worker is replaced, in milliseconds: the first, and the longest. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 10_000
/** This many ends in a row without a serving worker end the supervisor. */
const MOST_ENDS = 6

interface SupervisorOptions {
  readonly directory: string
  /** The number of workers. */
  readonly count: number
  /** The program that each of them runs: a host, with `takeWorkerNumber` and `reportServing`. */
  readonly program: string
  readonly arguments: readonly string[]
  /** Override the settings. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** Cancels the start until all serve, by the name of a signal; no effect afterwards. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The process that starts hosts, its workers, and starts again what ends. It accepts the connections
 * of their common port and hands them out in turn (`node:cluster`) without a loss: one that a worker no
 * longer accepts goes to the next. The workers are hosts like those of other machines, each with a
 * control socket of its own: the supervisor takes no part in a change, and loads no module.
 */
export class Supervisor {
  readonly #directory: string
  readonly #count: number
  readonly #log: FastifyBaseLogger
  readonly #listener: ControlListener
  readonly #workers = new Set<WorkerProcess>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #abandoned = new AbortController()
  readonly #drainSeconds: number
  #url = ''
  #ends = 0
  #restarting = false
  #stopping: Promise<void> | undefined

  private constructor(
    { directory, count }: SupervisorOptions,
    listener: ControlListener,
    log: FastifyBaseLogger,
    drainSeconds: number,
  ) {
    this.#directory = directory
    this.#count = count
    this.#listener = listener
    this.#log = log
    this.#drainSeconds = drainSeconds
    const timer = setInterval(() => {
      for (const worker of this.#workers) worker.tick()
    }, 1_000)
    this.#closed.promise.catch(() => {}).finally(() => clearInterval(timer))
  }

  /**
   * Resolves when all possible workers serve.
   * @throws {WorkerEndedError} if the first one fails
   * @throws {StorageBusyError} if a host already serves the application in this folder
   * @throws the reason of `signal`
   */
  static async start(options: SupervisorOptions): Promise<Supervisor> {
    const listener = await ControlListener.open(options.directory, 'supervisor')
    try {
      return await Supervisor.#start(options, listener)
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  static async #start(options: SupervisorOptions, listener: ControlListener): Promise<Supervisor> {
    const { directory, count, program, port, host, signal } = options
    const config = await readConfig(directory)
    const wish = { port: port ?? config.server.port, host: host ?? config.server.host }
    const found = await freePort(wish)
    // When all workers have ended, the next ones would otherwise listen somewhere else.
    const fixed = wish.port === 0 ? ['--port', `${found}`] : []
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: program, args: [...options.arguments, ...fixed], stdio: [...workerStdio] })
    const supervisor = new Supervisor(options, listener, createLogger(config.log), drainSecondsOf(config))
    const abort = () => void supervisor.stop(signal?.reason)
    signal?.addEventListener('abort', abort)
    try {
      signal?.throwIfAborted()
      // Starts alone: it migrates, and its failure would be the failure of all.
      await supervisor.#fork().serving
      signal?.throwIfAborted()
      await Promise.allSettled(Array.from({ length: count - 1 }, () => supervisor.#fork().serving))
      signal?.throwIfAborted()
      listener.serve((request, response) => void supervisor.#respond(request, response))
      return supervisor
    } catch (error) {
      await supervisor.stop('SIGTERM')
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Resolves when all have stopped. Rejects with a WorkerEndedError if none can be kept alive. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /**
   * Each next worker serves before the previous one releases its clients.
   * @throws {RefusedError} if a new one does not serve like the previous ones; the rest continue
   */
  async restart(): Promise<number> {
    if (this.#restarting) throw new RefusedError('a restart is already in progress')
    this.#restarting = true
    try {
      const workers = [...this.#workers]
      const started = await Promise.allSettled(workers.map(({ serving }) => serving))
      const previous = workers.filter(
        ({ isDismissed }, index) => started[index]?.status === 'fulfilled' && !isDismissed,
      )
      // A worker that has ended meanwhile has a successor already.
      for (const worker of previous) if (this.#workers.has(worker)) await this.#replace(worker)
      return previous.length
    } finally {
      this.#restarting = false
    }
  }

  /** All accept requests for a while, then finish those in progress. */
  stop(signal: NodeJS.Signals): Promise<void> {
    this.#stopping ??= this.#stop(signal)
    return this.#stopping
  }

  /** Passes on a second Ctrl-C, at which a host cuts off requests in progress. */
  cut(): Promise<void> {
    for (const worker of this.#workers) void worker.stop('SIGINT', this.#drainSeconds)
    return this.closed
  }

  async #stop(signal: NodeJS.Signals): Promise<void> {
    const [drainSeconds, count] = [this.#drainSeconds, this.#workers.size]
    this.#log.info({ signal, drainSeconds }, stoppingMessage(signal, drainSeconds))
    await this.#end(signal)
    this.#log.info(`stopped: ${count} processes have ended`)
    this.#closed.resolve()
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#abandoned.abort()
    this.#listener.hold()
    await Promise.all(Array.from(this.#workers, (worker) => worker.stop(signal, this.#drainSeconds)))
    // The end of the workers gives waiting callers their response. A stopped command is not waited
    // for.
    await settlesWithin(1_000, this.#listener.idle())
    await this.#listener.close()
  }

  /** The one operation of a supervisor is `restart`. */
  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The command may have given up before this process read its request.
    const isThere = await text(request).then(
      () => true,
      () => false,
    )
    if (!isThere) return
    const [status, body] = await this.restart().then(
      (workers) => [200, { workers }] as const,
      (error: Error) => [error instanceof RefusedError ? 409 : 500, { reason: error.message }] as const,
    )
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  #fork(): WorkerProcess {
    const taken = new Set(Array.from(this.#workers, ({ number }) => number))
    let number = 1
    while (taken.has(number)) number += 1
    const worker = new WorkerProcess(number)
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
      if (this.#ends >= MOST_ENDS && ![...this.#workers].some(({ isServing }) => isServing)) {
        this.#stopping = this.#end('SIGTERM').then(() => this.#closed.reject(end))
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
      assertAsGood(
        await stateOfWorker(this.#directory, worker.number),
        await stateOfWorker(this.#directory, next.number),
      )
    } catch (error) {
      await next.leave()
      throw new RefusedError(`the new process does not serve: ${(error as Error).message}`)
    }
    this.#log.info(`process ${next.pid} replaces ${worker.pid}`)
    await worker.leave()
  }
}
