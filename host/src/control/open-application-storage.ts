import { existsSync } from 'node:fs'
import {
  assertOwnDatabase,
  type Config,
  databaseAddress,
  readDatabaseId,
  readIdentity,
} from '@mortise/application'
import { NoDatabaseError, type OpenOptions, type Storage } from '@mortise/storage'
import { openStorage } from '../events/event-log.ts'

/**
 * Opens the application's own database, or a new one if `app init` or an explicit command allows
 * it.
 * @throws {IdentityError} if it is missing or another one; nothing is made or changed then
 * @throws {StorageBusyError} if another host or command has the SQLite file open
 * @throws {StorageUnreachableError}
 */
export async function openApplicationStorage(
  config: Config,
  options: Omit<OpenOptions, 'create'> = {},
): Promise<Storage> {
  const identity = await readIdentity(config.directory)
  const create = identity?.database === null
  const storage = await openStorage({ ...databaseAddress(config), ...options, create }).catch((error) => {
    if (error instanceof NoDatabaseError) assertOwnDatabase(config, identity, undefined)
    throw error
  })
  try {
    assertOwnDatabase(config, identity, await readDatabaseId(storage))
    return storage
  } catch (error) {
    await storage.close()
    throw error
  }
}

/** Whether an application has no database yet and may make one. SQLite only. */
export async function isDatabaseMissing(config: Config): Promise<boolean> {
  if (config.databaseFile === undefined || existsSync(config.databaseFile)) return false
  return (await readIdentity(config.directory))?.database === null
}
