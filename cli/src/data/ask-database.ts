import { requestRefused } from '../failures/index.ts'
import { callRunningHost, StillNeededError, StorageBusyError } from '../host.ts'

export interface DatabaseRequest {
  readonly directory: string
  /** POST, where nothing else is said. */
  readonly method?: 'GET'
  readonly path:
    | '/backup'
    | '/retired'
    | '/purge'
    | '/undo'
    | '/schema'
    | '/audit'
    | '/reactions'
    | '/replay'
    | '/discard'
  readonly body?: unknown
}

/**
 * Has the running host do something with the database, which is its own; where none runs, does it `alone`.
 * @throws {Failure}
 * @throws {StillNeededError} where another host of the database needs what would go
 */
export async function askDatabase<Answer>(
  request: DatabaseRequest,
  alone: () => Promise<Answer>,
): Promise<Answer> {
  const answer = await askHost<Answer>(request)
  if (answer !== undefined) return answer
  try {
    return await alone()
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    // A host that was started a moment ago.
    const second = await askHost<Answer>(request)
    if (second === undefined) throw error
    return second
  }
}

/** @returns undefined where no host runs. @throws as `askDatabase` */
export async function askHost<Answer>({
  directory,
  method,
  path,
  body,
}: DatabaseRequest): Promise<Answer | undefined> {
  const answer = await callRunningHost(directory, { method: method ?? 'POST', path, body })
  if (answer === undefined || answer.status === 200) return answer?.body as Answer | undefined
  const { reason, stillNeeded } = answer.body as { reason?: string; stillNeeded?: boolean }
  if (stillNeeded) throw new StillNeededError(reason)
  throw requestRefused({ reason: reason ?? `it answered ${answer.status}` })
}
