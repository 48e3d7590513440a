import { AsyncLocalStorage } from 'node:async_hooks'
import { HostSilentError } from './host-errors.ts'
import { hostProcess } from './host-process.ts'
import type { Operation } from './operation.ts'

/** Time limit for the first sign of life after a request, in milliseconds. */
const FIRST_SIGN = 5_000
/** Between two signs of life, in milliseconds. Only a blocked event loop sends none. */
const SILENCE = 10_000
/** Time limit for a host that was silent before, in milliseconds. */
const ONCE_MORE = 500
const REPORT_INTERVAL = 10_000
const TICK = 250

/** By socket. */
const silent = new Map<string, HostSilentError>()
const listener = new AsyncLocalStorage<(text: string) => void>()

/** Runs `work`, and calls `report` with the reason for the wait if the running host is slow. */
export const reportingWaits = <Result>(report: (text: string) => void, work: () => Result): Result =>
  listener.run(report, work)

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

  /** @param firstSign replaces the usual limit, in milliseconds */
  constructor(
    socket: string,
    operation: Operation,
    giveUp: (error: HostSilentError) => void,
    firstSign: number = FIRST_SIGN,
  ) {
    this.#socket = socket
    this.#operation = operation
    this.#giveUp = giveUp
    this.#limit = silent.has(socket) ? ONCE_MORE : firstSign
    this.#timer = setInterval(() => this.#tick(), TICK)
  }

  /** The host has given a sign of life. */
  extend(): void {
    silent.delete(this.#socket)
    this.#limit = SILENCE
    this.#silentFor = 0
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    this.#silentFor += TICK
    this.#waited += TICK
    if (this.#silentFor >= this.#limit && !this.#mayHoldItsLoop()) {
      this.end()
      const error = silent.get(this.#socket) ?? new HostSilentError(hostProcess(this.#socket))
      silent.set(this.#socket, error)
      this.#giveUp(error)
    } else if (this.#waited % REPORT_INTERVAL === 0 && !this.#operation.isAwaited) {
      const { pid } = hostProcess(this.#socket)
      const who = pid === undefined ? 'the running host' : `the running host (process ${pid})`
      listener.getStore()?.(`Still waiting for ${who}, after ${this.#waited / 1000} s.`)
    }
  }

  #mayHoldItsLoop(): boolean {
    const hasHeard = this.#limit === SILENCE
    if (!hasHeard || this.#silentFor >= (this.#operation.holdsLoop ?? 0)) return false
    return hostProcess(this.#socket).state !== 'stopped'
  }
}
