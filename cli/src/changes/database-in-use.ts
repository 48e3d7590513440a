import { callApplication, HostSilentError, StorageBusyError, stateWithin } from '@mortise/host'
import { alreadyRunning } from '../failures/index.ts'
import { busyWith } from './command-lock.ts'

/** How long a host that has the database may take to say who it is, in milliseconds. */
const FIRST_SIGN = 2_000

/** An error of a command that opens the database itself: where it is in use, as who uses it. */
export async function namingDatabaseUser(directory: string, error: unknown): Promise<unknown> {
  if (!(error instanceof StorageBusyError)) return error
  const state = await stateWithin(directory, FIRST_SIGN).catch((silent) =>
    silent instanceof HostSilentError ? silent : undefined,
  )
  if (state instanceof HostSilentError) return state
  if (state === undefined) return (await busyWith(directory)) ?? error
  const { pid, url } = state
  return alreadyRunning({ pid, url, cause: error })
}

/** As `callApplication`, by a command that does not lock the application. */
export const callUnlocked: typeof callApplication = (directory, name, ...input) =>
  callApplication(directory, name, ...input).catch(async (error) => {
    throw await namingDatabaseUser(directory, error)
  })
