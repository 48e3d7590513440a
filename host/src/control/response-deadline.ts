import { AsyncLocalStorage } from 'node:async_hooks'
import { HostSilentError } from './host-errors.ts'
import { hostProcess } from './host-process.ts'
import type { Operation } from './operation.ts'
import type { Phase } from './phase.ts'

/** Time limit for the first sign of life after a request, in milliseconds. */
const FIRST_SIGN = 5_000
/** Between two signs of life, in milliseconds. Only a blocked event loop sends none. */
const SILENCE = 10_000
/** Time limit for a host that was silent before, in milliseconds. */
const ONCE_MORE = 500
/** Time limit for a host that starts or stops, in milliseconds. */
const PHASE_LIMIT = 60_000
const REPORT_INTERVAL = 10_000
const TICK = 250

/** By socket. */
const silent = new Map<string, HostSilentError>()
/** How long each host has been starting or stopping, in milliseconds, by socket. */
const held = new Map<string, number>()
const listener = new AsyncLocalStorage<(text: string) => void>()

/** Runs `work`, and calls `report` with the reason for the wait if the running host is slow. */
export const reportingWaits = <Result>(report: (text: string) => void, work: () => Result): Result =>
  listener.run(report, work)

/** The host has begun an operation, or is gone. */
export const forgetPhase = (socket: string) => void held.delete(socket)

/**
 * The time limit of one request to the host that listens on `socket`. It limits the host's silence,
 * not its work. It counts ticks of this process, so a stopped process or a sleeping machine makes
 * nobody late.
 */
export class ResponseDeadline {
  readonly #socket: string
  readonly #operation: Operation
  readonly #giveUp: (error: HostSilentError) => void
  readonly #timer: NodeJS.Timeout
  #limit: number
  #silentFor = 0
  #waited = 0
  #phase: Phase | undefined

  /**
   * @param firstSign replaces the usual limit, in milliseconds. A host that was silent has less, unless
   * it is longer than usual: a supervisor replaces the host meanwhile.
   */
  constructor(
    socket: string,
    operation: Operation,
    giveUp: (error: HostSilentError) => void,
    firstSign: number = FIRST_SIGN,
  ) {
    this.#socket = socket
    this.#operation = operation
    this.#giveUp = giveUp
    this.#limit = silent.has(socket) && firstSign <= FIRST_SIGN ? ONCE_MORE : firstSign
    this.#timer = setInterval(() => this.#tick(), TICK)
  }

  /**
   * The host has given a sign of life.
   * @param phase the reason why it does not begin yet
   */
  extend(phase?: Phase): void {
    silent.delete(this.#socket)
    if (phase !== undefined && !held.has(this.#socket)) {
      held.set(this.#socket, 0)
      listener.getStore()?.(`The host is ${phase}. Waiting for it.`)
    }
    this.#phase = phase
    this.#limit = SILENCE
    this.#silentFor = 0
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    this.#silentFor += TICK
    this.#waited += TICK
    if (this.#phase !== undefined && this.#isHeldTooLong(this.#phase)) return
    if (this.#silentFor >= this.#limit && !this.#mayHoldItsLoop()) {
      this.end()
      const error = silent.get(this.#socket) ?? new HostSilentError(hostProcess(this.#socket))
      silent.set(this.#socket, error)
      this.#giveUp(error)
    } else if (this.#waited % REPORT_INTERVAL === 0 && !this.#operation.isAwaited) {
      listener.getStore()?.(`Still waiting for ${this.#who}, after ${this.#waited / 1000} s.`)
    }
  }

  #isHeldTooLong(phase: Phase): boolean {
    const time = (held.get(this.#socket) ?? 0) + TICK
    held.set(this.#socket, time)
    if (time < PHASE_LIMIT) return false
    this.end()
    this.#giveUp(new HostSilentError({ ...hostProcess(this.#socket), state: phase }))
    return true
  }

  get #who(): string {
    const { pid } = hostProcess(this.#socket)
    return pid === undefined ? 'the running host' : `the running host (process ${pid})`
  }

  #mayHoldItsLoop(): boolean {
    const hasHeard = this.#limit === SILENCE
    if (!hasHeard || this.#silentFor >= (this.#operation.holdsLoop ?? 0)) return false
    return hostProcess(this.#socket).state !== 'stopped'
  }
}
