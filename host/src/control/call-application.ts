import { StorageBusyError } from '@mortise/storage'
import { callRunningHost } from './call-running-host.ts'
import type { DatabaseOperationName, InputArgument, OutputOf } from './operations.ts'
import { runWithoutHost } from './run-without-host.ts'

/** In the running host, or without one in this process. @throws as these do */
export async function callApplication<Name extends DatabaseOperationName>(
  directory: string,
  name: Name,
  ...input: InputArgument<Name>
): Promise<OutputOf<Name>> {
  const output = await callRunningHost(directory, name, ...input)
  if (output !== undefined) return output
  try {
    return await runWithoutHost(directory, name, ...input)
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    // A host has started in the meantime.
    const second = await callRunningHost(directory, name, ...input)
    if (second === undefined) throw error
    return second
  }
}
