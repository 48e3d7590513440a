import { alreadyRunning } from './failures/index.ts'
import { type ApplicationState, callRunningHost, HostSilentError, StorageBusyError } from './host.ts'
import { busyWith } from './install/command-lock.ts'

/** How long a host that has the database may take to say who it is, in milliseconds. */
const FIRST_SIGN = 2_000

/** An error of a command that opens the database itself: where it is in use, as who uses it. */
export async function withUser(directory: string, error: unknown): Promise<unknown> {
  if (!(error instanceof StorageBusyError)) return error
  const answer = await callRunningHost(directory, { method: 'GET', path: '/state' }, FIRST_SIGN).catch(
    (silent) => (silent instanceof HostSilentError ? silent : undefined),
  )
  if (answer instanceof HostSilentError) return answer
  if (answer?.status !== 200) return (await busyWith(directory)) ?? error
  const { pid, url } = answer.body as ApplicationState
  return alreadyRunning({ pid, url, cause: error })
}
