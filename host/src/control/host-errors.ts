import type { HostProcess } from './host-process.ts'
import type { Phase } from './phase.ts'

/** The running host ended before it responded: the operation may be done or not. */
export class HostEndedError extends Error {
  override readonly name: string = 'HostEndedError'
}

/** The running host does not respond: the operation may be done or not. */
export class HostSilentError extends HostEndedError {
  override readonly name = 'HostSilentError'
  readonly pid: number | undefined
  /** Its process is stopped, and continues once it is woken. */
  readonly isStopped: boolean

  constructor({ pid, state }: { pid: number | undefined; state: HostProcess['state'] | Phase }) {
    super(`the running host${pid === undefined ? '' : ` (process ${pid})`} does not respond: ${whyOf[state]}`)
    this.pid = pid
    this.isStopped = state === 'stopped'
  }
}

/** The running host refused the operation. */
export class HostRefusedError extends Error {
  override readonly name = 'HostRefusedError'
  /** 409 for a refusal, 507 for lack of space; otherwise unexpected. */
  readonly status: number
  /** The host's reason, with the module to blame, if any. */
  readonly reason: string

  constructor(status: number, reason: string) {
    super(`the running host refused: ${reason}`)
    this.status = status
    this.reason = reason
  }
}

const whyOf = {
  stopped: 'it is stopped (SIGSTOP, or a debugger)',
  'on disk': 'it waits for the disk, or the machine swaps',
  starting: 'it is still starting',
  stopping: 'it is still stopping',
  unknown: 'its event loop is blocked, for example by a module, or the machine swaps',
} as const
