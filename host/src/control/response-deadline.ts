import { AsyncLocalStorage } from 'node:async_hooks'
import { HostSilentError } from './host-errors.ts'
import { hostProcess } from './host-process.ts'
import type { Operation } from './operation.ts'

/** How long a host may take to say that it has heard a request, in milliseconds. */
const FIRST_SIGN = 5_000
/** How long it may say nothing while it works on one. It says something once a second, unless it holds its event loop. */
const SILENCE = 10_000
/** How long a host that was silent before may take to show that it is so no more. */
const ONCE_MORE = 500
const TELL_EVERY = 10_000
const TICK = 250

/** By socket. */
const silent = new Map<string, HostSilentError>()
const listener = new AsyncLocalStorage<(text: string) => void>()

/** Does `work`, and has `tell` told what it waits for whenever the running host takes long. */
export const reportingWaits = <Result>(tell: (text: string) => void, work: () => Result): Result =>
  listener.run(tell, work)

/**
 * The limit of one request to the host that listens on `socket`: on its silence, not on its work. It counts ticks of this
 * process, so nobody is late because this process was stopped, or the machine slept.
 */
export class ResponseDeadline {
  readonly #socket: string
  readonly #operation: Operation
  readonly #giveUp: (error: HostSilentError) => void
  readonly #timer: NodeJS.Timeout
  #limit: number
  #silentFor = 0
  #waited = 0

  /** @param firstSign instead of the usual limit, in milliseconds */
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
  heard(): void {
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
    } else if (this.#waited % TELL_EVERY === 0 && !this.#operation.isAwaited) {
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
