import { Failure } from './failure.ts'
import { type ApplicationState, callRunningHost, StorageBusyError } from './host.ts'
import { busyWith } from './install/command-lock.ts'

/** An error of a command that opens the database itself: where it is in use, as who uses it. */
export async function withUser(directory: string, error: unknown): Promise<unknown> {
  if (!(error instanceof StorageBusyError)) return error
  const answer = await callRunningHost(directory, { method: 'GET', path: '/state' }).catch(() => undefined)
  if (answer?.status !== 200) return (await busyWith(directory)) ?? error
  const { pid, url } = answer.body as ApplicationState
  return new Failure(
    'unexpected',
    'already-running',
    `This application is running already: process ${pid} serves ${url}.`,
    `Use that one, or stop it first: kill ${pid}`,
    { cause: error },
  )
}
