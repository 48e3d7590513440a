import { type ExecFileException, execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { callApplication, type DatabaseSchema, type ModulePackage } from '@mortise/host'
import { hostTrialFailed } from '../../failures/index.ts'
import type { HostPackage } from '../../store/host-package.ts'

/** The input of a host's trial, as JSON on stdin: a contract between versions. */
export interface HostTrial {
  /** The modules that will serve. */
  readonly modules: readonly { readonly id: string; readonly directory: string }[]
  readonly schema: DatabaseSchema
}

/** The time limit of a trial, in milliseconds: twice that of its probe of the modules. */
const TIMEOUT = 60_000

/** Its code runs here for the first time. @throws {Failure} `host-refused` */
export async function tryHost(
  host: HostPackage,
  directory: string,
  modules: readonly ModulePackage[],
): Promise<void> {
  const trial: HostTrial = {
    modules: modules.map((module) => ({ id: module.manifest.id, directory: module.directory })),
    schema: await callApplication(directory, 'schema'),
  }
  const call = [join(host.directory, 'bin.js'), 'host-probe', '--json', '--dir', directory]
  const env = { ...process.env, MORTISE_UNPINNED: '1' }
  const running = promisify(execFile)(process.execPath, call, {
    env,
    timeout: TIMEOUT,
    killSignal: 'SIGKILL',
  })
  running.child.stdin?.on('error', () => {}) // it ended without reading, and reports why
  running.child.stdin?.end(JSON.stringify(trial))
  await running.catch((error) => {
    throw hostTrialFailed({ version: host.version, reason: reasonOf(error) })
  })
}

function reasonOf({ killed, code, stdout = '', stderr = '' }: ExecFileException): string {
  if (killed) return `its probe did not finish within ${TIMEOUT / 1000} s`
  try {
    return JSON.parse(stdout).error.message
  } catch {
    const line = stderr.split('\n').find((text) => /^\w*Error\b/.test(text))
    return `it does not start${line ? `: ${line}` : ` (${code})`}`
  }
}
