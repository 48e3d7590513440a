import { LockFileError, NewerHostError, readLockFile } from '@mortise/application'
import { HostSilentError } from '@mortise/host'
import { isLocked } from '@mortise/storage'
import { lostLockFile, restoreLockFile } from '../changes/lost-lock-file.ts'
import type { Failure } from '../failures/index.ts'
import { asFailure } from '../reporting/explain.ts'
import { checkBackups } from './check-backups.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkDatabase } from './check-database.ts'
import { checkFiles } from './check-files.ts'
import { checkDisk, checkFolders } from './check-folders.ts'
import { checkInterrupted } from './check-interrupted.ts'
import { checkModules } from './check-modules.ts'
import { checkRecords } from './check-records.ts'
import { checkOtherHosts, checkRunningHost } from './check-running-host.ts'
import { checkLockFile, checkStore } from './check-store.ts'
import type { AsyncFindings, Check, Finding, FixableFinding } from './finding.ts'

/** In this order each repair prepares the next. */
const checks: readonly Check[] = [
  checkFolders,
  checkRecords,
  checkInterrupted,
  checkFiles,
  checkConfiguration,
  checkLockFile,
  checkStore,
  checkDisk,
  checkDatabase,
  checkModules,
  checkRunningHost,
  checkOtherHosts,
  checkBackups,
]

/** Findings that mean nothing while a command is running, because they are its work in progress. */
const underWay = ['restoration-interrupted', 'interrupted', 'leftovers', 'store-unused']

export interface DoctorReport {
  /** Repair what can be repaired without loss. Requires the command lock. */
  readonly fix: boolean
  /** Leave out what takes as long as reading the database. */
  readonly quick: boolean
  /** The failure that names another running command. */
  readonly busy?: Failure | undefined
}

/** Runs all checks. A check that cannot run is a finding too. */
export async function examine(directory: string, { fix, quick, busy }: DoctorReport): Promise<Finding[]> {
  const findings: Finding[] = []
  const run = async (check: Check) => {
    for (const finding of await findingsOf(check, directory, quick)) {
      const isKnown = findings.some(({ message }) => message === finding.message)
      if (isKnown || (busy !== undefined && underWay.includes(finding.id))) continue
      findings.push(await fixed(finding, fix))
    }
  }
  await run(checkReadable)
  const isReadable = findings.every(({ fixed }) => fixed)
  if (busy !== undefined) findings.push(commandRunning(busy))
  for (const check of isReadable ? checks : [checkFolders, checkFiles]) await run(check)
  return findings
}

async function findingsOf(
  check: Check,
  directory: string,
  quick: boolean,
): Promise<readonly FixableFinding[]> {
  try {
    const findings: FixableFinding[] = []
    for await (const finding of check(directory, quick)) findings.push(finding)
    return findings
  } catch (error) {
    const { message, hint } = asFailure(error)
    if (error instanceof HostSilentError) return [{ id: 'host-silent', severity: 'error', message, hint }]
    if (isLocked(error)) return [{ id: 'database-locked', severity: 'error', message, hint }]
    return [{ id: 'check-failed', severity: 'error', message, hint }]
  }
}

const commandRunning = ({ message }: Failure): Finding => ({
  id: 'command-running',
  severity: 'info',
  message,
  hint: 'The report does not cover its change. Run "app doctor" again later.',
  fixed: false,
})

async function fixed({ fix, ...finding }: FixableFinding, isFixing: boolean): Promise<Finding> {
  if (!isFixing || fix === undefined) return { ...finding, fixed: false }
  try {
    return { ...finding, hint: await fix(), fixed: true }
  } catch (error) {
    return {
      ...finding,
      hint: `The fix failed: ${asFailure(error).message} ${finding.hint}`,
      fixed: false,
    }
  }
}

/** Without this file, no check of the installed modules can run. */
async function* checkReadable(directory: string): AsyncFindings {
  try {
    await readLockFile(directory)
  } catch (error) {
    if (error instanceof NewerHostError) {
      const hint = 'Use the "app" that wrote it, or a newer one.'
      return yield { id: 'host-too-old', severity: 'error', message: error.message, hint }
    }
    if (!(error instanceof LockFileError)) throw error
    const { hint } = await lostLockFile(error)
    const message = `${error.message}. The installed modules are unknown.`
    const fix = () => restoreLockFile(directory, error)
    yield { id: 'lock-lost', severity: 'error', message, hint, fix }
  }
}
