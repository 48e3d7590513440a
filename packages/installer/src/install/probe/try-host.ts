import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { ModulePackage } from '@mortise/application'
import { callApplication } from '@mortise/host'
import type { DatabaseSchema } from '@mortise/storage'
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
): Promise<undefined> {
  const trial: HostTrial = {
    modules: modules.map((module) => ({ id: module.manifest.id, directory: module.directory })),
    schema: await callApplication(directory, 'schema'),
  }
  const reason = await ask(host, directory, trial)
  if (reason === undefined) return undefined
  throw hostTrialFailed({ version: host.version, reason })
}

/** @returns the reason if it cannot */
function ask(host: HostPackage, directory: string, trial: HostTrial): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const child = execFile(
    process.execPath,
    [join(host.directory, 'bin.js'), 'host-probe', '--json', '--dir', directory],
    { env: { ...process.env, MORTISE_UNPINNED: '1' }, timeout: TIMEOUT, killSignal: 'SIGKILL' },
    (error, stdout, stderr) => resolve(error ? reasonOf(error, stdout, stderr) : undefined),
  )
  child.stdin?.on('error', () => {}) // it ended without reading, and reports why
  child.stdin?.end(JSON.stringify(trial))
  return promise
}

function reasonOf({ killed, code }: { killed?: boolean; code?: unknown }, stdout: string, stderr: string) {
  if (killed) return `its probe did not finish within ${TIMEOUT / 1000} s`
  try {
    return JSON.parse(stdout).error.message as string
  } catch {
    const line = stderr.split('\n').find((text) => /^\w*Error\b/.test(text))
    return `it does not start${line ? `: ${line}` : ` (${code})`}`
  }
}
