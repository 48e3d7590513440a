import { setTimeout as pause } from 'node:timers/promises'
import { callApplication, HostSilentError, stateWithin } from '@mortise/host'
import { StorageBusyError } from '@mortise/storage'
import { alreadyRunning, Failure } from '../failures/index.ts'
import { asFailure } from '../reporting/explain.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { busyWith } from './command-lock.ts'

/** The time for a host that uses the database to identify itself, in milliseconds. */
const FIRST_SIGN = 2_000

/** Replaces the error of a database in use with one that names its user. */
export async function namingDatabaseUser(directory: string, error: unknown): Promise<unknown> {
  if (!(error instanceof StorageBusyError)) return error
  const user = await stateWithin(directory, FIRST_SIGN).catch((reason) => reason)
  if (user instanceof HostSilentError) return user
  if (user === undefined || user instanceof Error) return (await busyWith(directory)) ?? error
  return alreadyRunning({ pid: user.pid, url: user.url, cause: error })
}

/** How long a start waits for a command that uses the database, and how often it tries, in milliseconds. */
const PATIENCE = 10_000
const ATTEMPT_PAUSE = 200

/** Repeats a start while a command uses the SQLite file, for some seconds. */
export async function whenDatabaseFree<Result>(
  terminal: Reporter,
  signal: AbortSignal,
  start: () => Promise<Result>,
): Promise<Result> {
  const end = performance.now() + PATIENCE
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start()
    } catch (error) {
      const isInUse = error instanceof StorageBusyError || (error instanceof Failure && error.code === 'busy')
      if (!isInUse || performance.now() > end) throw error
      if (attempt === 1) terminal.note(`${asFailure(error).message} Waiting for it.`)
      await pause(ATTEMPT_PAUSE, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
  }
}

/** `callApplication` for a command without the command lock. */
export const callUnlocked: typeof callApplication = (directory, name, ...input) =>
  callApplication(directory, name, ...input).catch(async (error) => {
    throw await namingDatabaseUser(directory, error)
  })
