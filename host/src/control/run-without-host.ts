import type { TSchema } from '@sinclair/typebox'
import { readConfig } from '../config/config.ts'
import { migrateHost } from '../modules/migrate-host.ts'
import { type OpenApplication, whileOpen } from './open-application.ts'
import { isDatabaseMissing } from './open-application-storage.ts'
import type { DatabaseOperation } from './operation.ts'
import { type DatabaseOperationName, type InputArgument, type OutputOf, operations } from './operations.ts'

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
  return (await run(directory, operation, input)) as OutputOf<Name>
}

async function run(
  directory: string,
  operation: DatabaseOperation<TSchema, unknown>,
  input: unknown,
): Promise<unknown> {
  const config = await readConfig(directory)
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
