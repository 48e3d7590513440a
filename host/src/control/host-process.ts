import { readFileSync } from 'node:fs'

export interface HostProcess {
  /** Undefined if the host has not written it. */
  readonly pid: number | undefined
  readonly state: 'stopped' | 'on disk' | 'unknown'
}

/** A host that hangs cannot report its process id. */
export const pidFile = (socket: string) => socket.replace(/\.sock$/, '.pid')

/** The process that listens on a control socket, as the operating system sees it. */
export const hostProcess = (socket: string): HostProcess =>
  processOf(Number(textOf(pidFile(socket))) || undefined)

export function processOf(pid: number | undefined): HostProcess {
  if (pid === undefined) return { pid, state: 'unknown' }
  // Linux only. The name in parentheses may contain spaces.
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
