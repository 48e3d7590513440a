import { asFailure } from '../explain.ts'
import { LockError, NewerHostError, readLock } from '../host.ts'
import { lostLock, restoreLock } from '../install/lost-lock.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkDatabase } from './check-database.ts'
import { checkDisk } from './check-disk.ts'
import { checkFiles } from './check-files.ts'
import { checkInterrupted } from './check-interrupted.ts'
import { checkOtherHosts } from './check-other-hosts.ts'
import { checkRunningHost } from './check-running-host.ts'
import { checkStore } from './check-store.ts'
import type { Check, Finding, Trouble } from './finding.ts'

/** In an order in which mending one prepares the next. */
const checks: readonly Check[] = [
  checkInterrupted,
  checkFiles,
  checkConfiguration,
  checkStore,
  checkDisk,
  checkDatabase,
  checkRunningHost,
  checkOtherHosts,
]

/**
 * Looks an application over; with `fix` also mends what can be mended without losing anything. Run it while
 * the application is locked.
 */
export async function examine(directory: string, fix: boolean): Promise<Finding[]> {
  const findings: Finding[] = []
  const run = async (check: Check) => {
    for (const trouble of await check(directory)) findings.push(await settled(trouble, fix))
  }
  await run(checkLock)
  const isReadable = findings.every(({ fixed }) => fixed)
  for (const check of isReadable ? checks : [checkFiles]) await run(check)
  return findings
}

async function settled({ mend, ...trouble }: Trouble, fix: boolean): Promise<Finding> {
  if (!fix || mend === undefined) return { ...trouble, fixed: false }
  try {
    return { ...trouble, hint: await mend(), fixed: true }
  } catch (error) {
    return {
      ...trouble,
      hint: `Mending it failed: ${asFailure(error).message} ${trouble.hint}`,
      fixed: false,
    }
  }
}

/** Without it nothing can be said of what is installed. */
async function checkLock(directory: string): Promise<Trouble[]> {
  try {
    await readLock(directory)
    return []
  } catch (error) {
    if (error instanceof NewerHostError) {
      const hint = 'Use the "app" that wrote it, or a newer one.'
      return [{ id: 'host-too-old', severity: 'error', message: error.message, hint }]
    }
    if (!(error instanceof LockError)) throw error
    const { message, hint } = await lostLock(error)
    const mend = () => restoreLock(directory, error)
    return [{ id: 'lock-lost', severity: 'error', message, hint, mend }]
  }
}
