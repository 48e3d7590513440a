import { asFailure } from '../explain.ts'
import { ConfigError, NewerHostError, readLock } from '../host.ts'
import { checkConfiguration } from './check-configuration.ts'
import { checkDatabase } from './check-database.ts'
import { checkFiles } from './check-files.ts'
import { checkInterrupted } from './check-interrupted.ts'
import { checkLock } from './check-lock.ts'
import { checkOtherHosts } from './check-other-hosts.ts'
import { checkRunningHost } from './check-running-host.ts'
import { checkStore } from './check-store.ts'
import type { Check, Finding, Trouble } from './finding.ts'

/** In an order in which mending one prepares the next. */
const checks: readonly Check[] = [
  checkInterrupted,
  checkFiles,
  checkConfiguration,
  checkLock,
  checkStore,
  checkDatabase,
  checkRunningHost,
  checkOtherHosts,
]

/**
 * Looks an application over; with `fix` also mends what can be mended without losing anything. Run it while
 * the application is locked.
 */
export async function examine(directory: string, fix: boolean): Promise<Finding[]> {
  const unreadable = await checkReadable(directory)
  const findings: Finding[] = []
  for (const check of unreadable.length > 0 ? [async () => unreadable, checkFiles] : checks) {
    for (const trouble of await check(directory)) findings.push(await settled(trouble, fix))
  }
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
async function checkReadable(directory: string): Promise<Trouble[]> {
  try {
    await readLock(directory)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [
      {
        id: 'lock-invalid',
        severity: 'error',
        message: `${error.message}. Without it nothing that is installed is known, and the host does not start.`,
        hint:
          error instanceof NewerHostError
            ? 'Use the "app" that wrote it, or a newer one.'
            : 'Restore modules.lock.json from version control or from a backup.',
      },
    ]
  }
}
