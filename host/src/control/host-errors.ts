import type { HostProcess } from './host-process.ts'

/** The running host has gone before it had answered: what it was asked for may have been done, or not. */
export class HostEndedError extends Error {
  override readonly name: string = 'HostEndedError'
}

/** The running host is there and does not answer: what it was asked for may have been done, or not. */
export class HostSilentError extends HostEndedError {
  override readonly name = 'HostSilentError'
  readonly pid: number | undefined
  /** Whether its process is stopped, and goes on once it is woken. */
  readonly isStopped: boolean

  constructor({ pid, state }: HostProcess) {
    super(`the running host${pid === undefined ? '' : ` (process ${pid})`} does not answer: ${whyOf[state]}`)
    this.pid = pid
    this.isStopped = state === 'stopped'
  }
}

/** The running host did not do what it was asked for. */
export class HostRefusedError extends Error {
  override readonly name = 'HostRefusedError'
  /** 409 where it may not be, 507 where the host has no room; something unexpected otherwise. */
  readonly status: number
  /** What the host says, with the module to blame, if any. */
  readonly reason: string

  constructor(status: number, reason: string) {
    super(`the running host did not do it: ${reason}`)
    this.status = status
    this.reason = reason
  }
}

const whyOf = {
  stopped: 'it is stopped (SIGSTOP, or a debugger)',
  'on disk': 'it waits for a disk, or the machine swaps',
  unknown: 'it hangs, as with code of a module that never returns, or the machine swaps',
} as const
