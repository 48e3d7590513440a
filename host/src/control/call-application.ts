import { type Config, readConfig } from '@mortise/application'
import { StorageBusyError } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import { migrateHost } from '../modules/migrate-host.ts'
import { callRunningHost } from './call-running-host.ts'
import { type OpenApplication, whileOpen } from './open-application.ts'
import { isDatabaseMissing } from './open-application-storage.ts'
import type { DatabaseOperation } from './operation.ts'
import { type DatabaseOperationName, type InputArgument, type OutputOf, operations } from './operations.ts'

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

/**
 * Runs an operation on an application without a host.
 * @throws {StorageBusyError} if a host has started meanwhile
 * @throws as the operation does
 */
export async function runWithoutHost<Name extends DatabaseOperationName>(
  directory: string,
  name: Name,
  ...[input = {}]: InputArgument<Name>
): Promise<OutputOf<Name>> {
  const operation: DatabaseOperation<TSchema, unknown> = operations[name]
  return (await run(await readConfig(directory), operation, input)) as OutputOf<Name>
}

async function run(
  config: Config,
  operation: DatabaseOperation<TSchema, unknown>,
  input: unknown,
): Promise<unknown> {
  if (operation.alone) return await operation.alone(config, input)
  if (operation.withoutDatabase && (await isDatabaseMissing(config)))
    return await operation.withoutDatabase(config, input)
  const takesRecords = !operation.reads && !operation.changesNothing
  const work = async (application: OpenApplication) => {
    if (operation.migrates) await migrateHost(application.storage)
    return await operation.run(application, input)
  }
  return await whileOpen(config, work, { takesRecords })
}
