import { callApplication, HostSilentError, StorageBusyError, stateWithin } from '@mortise/host'
import { alreadyRunning } from '../failures/index.ts'
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

/** `callApplication` for a command without the command lock. */
export const callUnlocked: typeof callApplication = (directory, name, ...input) =>
  callApplication(directory, name, ...input).catch(async (error) => {
    throw await namingDatabaseUser(directory, error)
  })
