import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { HostEndedError } from '../host-errors.ts'
import type { ControlRequest, ControlResponse } from '../pool.ts'
import { HandedConnections } from './handed-connections.ts'
import { HeartbeatMonitor } from './heartbeat-monitor.ts'
import { HEARTBEAT_FD } from './send-heartbeat.ts'
import type { FromWorker, ToWorker, WorkerFailure } from './worker-messages.ts'

/** The stdio of a worker; the last entry is the pipe of its heartbeats. */
export const workerStdio = ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'] as const
const PULSE_DESCRIPTOR = 4

/** Time limit for a worker that was told to end, in milliseconds: longer than its drain. */
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

/** A serving process, as its parent sees it. */
export class WorkerProcess {
  readonly #worker: Worker
  readonly #serving = Promise.withResolvers<string>()
  readonly #ended = Promise.withResolvers<WorkerEndedError>()
  readonly #asked = new Map<number, PromiseWithResolvers<ControlResponse>>()
  readonly #pulse: HeartbeatMonitor
  readonly #handed: HandedConnections
  #replacedFor: string | undefined
  #failure: WorkerFailure | undefined
  #servesSince: number | undefined
  #isDismissed = false
  #calls = 0

  /** Forks the program of `cluster.setupPrimary`. */
  constructor() {
    this.#worker = cluster.fork({ [HEARTBEAT_FD]: PULSE_DESCRIPTOR })
    this.#handed = new HandedConnections(this.#worker.process)
    this.#pulse = new HeartbeatMonitor(this.#worker.process.stdio[PULSE_DESCRIPTOR] as Readable)
    this.#serving.promise.catch(() => {})
    this.#worker.on('message', (message: FromWorker) => this.#hear(message))
    this.#worker.on('error', (error) => this.#end(`could not be reached: ${error.message}`))
    this.#worker.on('exit', (code, signal) => {
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
      const end = () => this.#end(this.wasSilent ? `${this.#replacedFor}, and ${how}` : how)
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

  /** Seconds for which its event loop has not turned. */
  get silentFor(): number {
    return this.#pulse.silentFor
  }

  /** Whether it was killed for its silence. */
  get wasSilent(): boolean {
    return this.#replacedFor !== undefined
  }

  /** Called once per second: kills the worker if it has been silent for too long. */
  tick(): void {
    if (this.wasSilent) return
    const phase = this.#isDismissed ? 'ends' : this.#servesSince === undefined ? 'starts' : 'serves'
    this.#replacedFor = this.#pulse.tick(phase)
    // A stopped process does not receive SIGTERM.
    if (this.wasSilent) this.#worker.process.kill('SIGKILL')
  }

  /** In milliseconds, until now. */
  get servedFor(): number {
    return this.#servesSince === undefined ? 0 : performance.now() - this.#servesSince
  }

  /** Resolves with how it ended, whatever the cause. */
  get ended(): Promise<WorkerEndedError> {
    return this.#ended.promise
  }

  /** Whether it was told to end. */
  get isDismissed(): boolean {
    return this.#isDismissed
  }

  /** @throws {HostEndedError} if it ends without a response */
  ask(request: ControlRequest): Promise<ControlResponse> {
    const call = ++this.#calls
    const answered = Promise.withResolvers<ControlResponse>()
    this.#asked.set(call, answered)
    if (!this.#worker.isConnected()) answered.reject(new HostEndedError(`process ${this.pid} has ended`))
    this.#send({ type: 'ask', call, request })
    return answered.promise
  }

  /** Tells it how many processes are silent, itself included. */
  reportSilent(count: number): void {
    this.#send({ type: 'silent', count })
  }

  /** Lets it release its clients without a lost request, and end. */
  leave(): Promise<void> {
    return this.#dismiss({ type: 'leave' }, LEAVE_TIMEOUT)
  }

  /** With `why`, a signal, it accepts requests for `drainSeconds`. */
  stop(why?: string, drainSeconds = 0): Promise<void> {
    // A worker that does not serve yet reads no messages.
    if (this.#servesSince === undefined) this.#worker.process.kill('SIGTERM')
    const message = { type: 'stop', drainSeconds, ...(why !== undefined && { why }) } as const
    return this.#dismiss(message, drainSeconds * 1000 + END_TIMEOUT)
  }

  /** Ends it at once and cuts off requests in progress; waits for its end continue. */
  cut(): void {
    this.#send({ type: 'cut' })
  }

  async #dismiss(message: ToWorker, timeout: number): Promise<void> {
    this.#isDismissed = true
    this.#send(message)
    if (await settlesWithin(timeout, this.ended)) return
    this.#worker.process.kill('SIGKILL')
    await this.ended
  }

  #send(message: ToWorker): void {
    // A worker that has just ended receives nothing, and its end is noticed elsewhere.
    if (this.#worker.isConnected()) this.#worker.send(message, () => {})
  }

  #hear(message: FromWorker): void {
    if (message.type === 'serving') {
      this.#servesSince = performance.now()
      this.#serving.resolve(message.url)
    } else if (message.type === 'failed') this.#failure = message.failure
    else if (message.type === 'answer') {
      this.#asked.get(message.call)?.resolve(message.answer)
      this.#asked.delete(message.call)
    }
  }

  #end(how: string): void {
    const isLast = !Object.values(cluster.workers ?? {}).some((other) => other?.isConnected())
    if (isLast) this.#handed.close()
    else this.#handed.passOn()
    const why = this.#failure === undefined ? '' : `: ${this.#failure.message}`
    const error = new WorkerEndedError(`process ${this.pid} ${how}${why}`, this.#failure)
    this.#serving.reject(error)
    this.#ended.resolve(error)
    for (const { reject } of this.#asked.values()) reject(new HostEndedError(error.message))
    this.#asked.clear()
  }
}
