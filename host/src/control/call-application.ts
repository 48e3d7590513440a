import { StorageBusyError } from '@mortise/storage'
import { callRunningHost } from './call-running-host.ts'
import type { DatabaseOperationName, InputArgument, OutputOf } from './operations.ts'
import { runAlone } from './run-alone.ts'

/**
 * Runs an operation on the application's database: in the running host, or without one in this
 * process.
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
    // A host has started in the meantime.
    const second = await callRunningHost(directory, name, ...input)
    if (second === undefined) throw error
    return second
  }
}
