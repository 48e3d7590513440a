import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { readLockFile, withoutEnvFile } from '@mortise/application'
import type { ApplicationState } from '@mortise/host'
import { calledFolder } from '../application/command-folder.ts'
import { exitCodes } from '../failures/index.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { absentPackages } from '../store/installed-packages.ts'

/** The pause between attempts while another command runs, in milliseconds. */
const BUSY_PAUSE = 1000

/**
 * Fetches the packages of the lock file that the store lacks, while the host serves, and makes the
 * host load them. A separate process ("app module-install --frozen") does this, so that no request
 * waits. Failures are printed.
 */
export async function restoreAtStart(
  directory: string,
  { modules }: Pick<ApplicationState, 'modules'>,
  terminal: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const failed = modules.flatMap(({ id, state }) => (state === 'failed' ? [id] : []))
  const lock = await readLockFile(directory)
  const absent = absentPackages(directory, lock)
  if (failed.length === 0 && absent.length === 0) return
  // Both at once: a later import may find the files of another version in their place.
  const { missingInStore } = await import('./fetch/restore-store.ts')
  const { activateRestored } = await import('./apply/activate.ts')
  // The host has read the modules that serve, so only for failed ones every byte counts.
  const missing = [...new Set([...absent, ...(await missingInStore(directory, lock, failed))])]
  if (missing.length === 0) return
  terminal.note(
    `Downloading packages that the store lacks: ${missing.join(', ')}. Their routes return 503 until then.`,
  )
  for (;;) {
    const { exitCode, said } = await bringInLine(directory, signal)
    if (signal.aborted) return
    if (exitCode === exitCodes.busy) await pause(BUSY_PAUSE, undefined, { signal }).catch(() => {})
    else if (exitCode === 0) return terminal.note('The store matches the lock file again.')
    else {
      // Other packages may be present.
      await activateRestored(directory, missing)
      return terminal.note(said)
    }
  }
}

async function bringInLine(directory: string, signal: AbortSignal) {
  const program = join(calledFolder(), 'bin.js')
  const child = spawn(
    process.execPath,
    [program, 'module-install', '--frozen', '--json', '--dir', directory],
    { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, ...withoutEnvFile() }, signal },
  )
  const ended = once(child, 'close').catch(() => [null])
  const [output, [exitCode]] = await Promise.all([text(child.stdout), ended])
  return { exitCode: exitCode as number | null, said: failureIn(output) }
}

function failureIn(output: string): string {
  try {
    const { message, hint } = JSON.parse(output).error
    return `Some packages could not be restored: ${message} ${hint}`
  } catch {
    return 'Some packages could not be restored. To see the reason: app module-install'
  }
}
