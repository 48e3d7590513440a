import { readFileSync } from 'node:fs'

export interface HostProcess {
  /** Undefined where it has not said. */
  readonly pid: number | undefined
  readonly state: 'stopped' | 'on disk' | 'unknown'
}

/** Where the host that listens on `socket` says which process it is: one that hangs cannot be asked. */
export const pidFile = (socket: string) => socket.replace(/\.sock$/, '.pid')

/** The process that listens on a control socket, as the operating system sees it. */
export const hostProcess = (socket: string): HostProcess =>
  processOf(Number(textOf(pidFile(socket))) || undefined)

export function processOf(pid: number | undefined): HostProcess {
  if (pid === undefined) return { pid, state: 'unknown' }
  // Linux only. The name in parentheses may have spaces.
  const [, code = ''] = /\) (\S)/.exec(textOf(`/proc/${pid}/stat`)) ?? []
  return { pid, state: states[code] ?? 'unknown' }
}

const states: Readonly<Record<string, HostProcess['state']>> = { T: 'stopped', t: 'stopped', D: 'on disk' }

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
