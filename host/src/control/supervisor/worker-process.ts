import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import { withoutEnvFile } from '@mortise/application'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { HandedConnections } from './handed-connections.ts'
import { HeartbeatMonitor } from './heartbeat-monitor.ts'
import { HEARTBEAT_FD } from './send-heartbeat.ts'
import type { FromWorker, ToWorker, WorkerFailure } from './worker-messages.ts'
import { WORKER_NUMBER } from './worker-number.ts'

/** The stdio of a worker; the last entry is the pipe of its heartbeats. */
export const workerStdio = ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'] as const
const PULSE_DESCRIPTOR = 4

/** Time limit for a worker that was asked to end, in milliseconds: longer than its drain. */
const END_TIMEOUT = 20_000
/** The limit for a worker that first releases its clients. */
const LEAVE_TIMEOUT = 40_000

/** A worker has ended, or could not begin to serve. */
export class WorkerEndedError extends Error {
  override readonly name = 'WorkerEndedError'
  /** Its own report, if it made one. */
  readonly failure: WorkerFailure | undefined

  constructor(message: string, failure: WorkerFailure | undefined) {
    super(message)
    this.failure = failure
  }
}

/** The process of a worker, as its supervisor sees it. */
export class WorkerProcess {
  readonly number: number
  readonly #worker: Worker
  readonly #serving = Promise.withResolvers<string>()
  readonly #ended = Promise.withResolvers<WorkerEndedError>()
  readonly #heartbeats: HeartbeatMonitor
  readonly #handed: HandedConnections
  #silence: string | undefined
  #failure: WorkerFailure | undefined
  #servesSince: number | undefined
  #isDismissed = false

  /**
   * Forks the program of `cluster.setupPrimary`.
   * @param number unique among the workers that live
   */
  constructor(number: number) {
    this.number = number
    this.#worker = cluster.fork({
      ...withoutEnvFile(),
      [WORKER_NUMBER]: number,
      [HEARTBEAT_FD]: PULSE_DESCRIPTOR,
    })
    this.#handed = new HandedConnections(this.#worker.process)
    this.#heartbeats = new HeartbeatMonitor(this.#worker.process.stdio[PULSE_DESCRIPTOR] as Readable)
    this.#serving.promise.catch(() => {})
    this.#worker.on('message', (message: FromWorker) => this.#hear(message))
    this.#worker.on('error', (error) => this.#end(`could not be reached: ${error.message}`))
    this.#worker.on('exit', (code, signal) => {
      const end = () => {
        // One that has said why ends with exit code 0.
        const ended = this.#failure === undefined ? `ended with exit code ${code}` : 'ended'
        const how = signal === null ? ended : `was ended by ${signal}`
        this.#end(this.#silence === undefined ? how : `${this.#silence}, and ${how}`)
      }
      // Its last message may still be in transit.
      if (this.#worker.isConnected()) this.#worker.once('disconnect', end)
      else end()
    })
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  /** Its URL, once it accepts requests. @throws {WorkerEndedError} if it ends before */
  get serving(): Promise<string> {
    return this.#serving.promise
  }

  get isServing(): boolean {
    return this.#servesSince !== undefined && !this.#isDismissed
  }

  /** Called once per second: kills the worker if it has been silent for too long. */
  tick(): void {
    if (this.#silence !== undefined) return
    const phase = this.#isDismissed ? 'ends' : this.#servesSince === undefined ? 'starts' : 'serves'
    this.#silence = this.#heartbeats.tick(phase)
    // A stopped process does not receive SIGTERM.
    if (this.#silence !== undefined) this.#worker.process.kill('SIGKILL')
  }

  /** In milliseconds, until now. */
  get servedFor(): number {
    return this.#servesSince === undefined ? 0 : performance.now() - this.#servesSince
  }

  /** Resolves with how it ended, whatever the cause. */
  get ended(): Promise<WorkerEndedError> {
    return this.#ended.promise
  }

  /** Whether it was asked to end. */
  get isDismissed(): boolean {
    return this.#isDismissed
  }

  /** Lets it release its clients without a lost request, and end. */
  leave(): Promise<void> {
    // A worker that does not serve yet reads no messages.
    if (this.#servesSince === undefined) return this.stop('SIGTERM', 0)
    const message: ToWorker = { type: 'leave' }
    // A worker that has just ended receives nothing, and its end is noticed elsewhere.
    if (this.#worker.isConnected()) this.#worker.send(message, () => {})
    return this.#dismiss(LEAVE_TIMEOUT)
  }

  /** @param drainSeconds for which it accepts requests after the signal */
  stop(signal: NodeJS.Signals, drainSeconds: number): Promise<void> {
    this.#worker.process.kill(signal)
    return this.#dismiss(drainSeconds * 1000 + END_TIMEOUT)
  }

  async #dismiss(timeout: number): Promise<void> {
    this.#isDismissed = true
    if (await settlesWithin(timeout, this.ended)) return
    this.#worker.process.kill('SIGKILL')
    await this.ended
  }

  #hear(message: FromWorker): void {
    if (message.type === 'serving') {
      this.#servesSince = performance.now()
      this.#serving.resolve(message.url)
    } else if (message.type === 'failed') this.#failure = message.failure
  }

  #end(how: string): void {
    const isLast = !Object.values(cluster.workers ?? {}).some((other) => other?.isConnected())
    if (isLast) this.#handed.close()
    else this.#handed.passOn()
    const why = this.#failure === undefined ? '' : `: ${this.#failure.message}`
    const error = new WorkerEndedError(`process ${this.pid} ${how}${why}`, this.#failure)
    this.#serving.reject(error)
    this.#ended.resolve(error)
  }
}
