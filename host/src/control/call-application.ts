import { StorageBusyError } from '@mortise/storage'
import { callRunningHost } from './call-running-host.ts'
import type { DatabaseOperationName, InputArgument, OutputOf } from './operations.ts'
import { runAlone } from './run-alone.ts'

/**
 * Has the running host do an operation on the database, which is its own; where none runs, does it itself.
 * @throws as `callRunningHost` or `runAlone`
 */
export async function callApplication<Name extends DatabaseOperationName>(
  directory: string,
  name: Name,
  ...input: InputArgument<Name>
): Promise<OutputOf<Name>> {
  const output = await callRunningHost(directory, name, ...input)
  if (output !== undefined) return output
  try {
    return await runAlone(directory, name, ...input)
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    // A host that was started a moment ago.
    const second = await callRunningHost(directory, name, ...input)
    if (second === undefined) throw error
    return second
  }
}
