import { assertOwnDatabase, callRunningHost, readConfig, readFileId, readIdentity } from '@mortise/host'

/**
 * Nothing is changed in an application whose SQLite file is lost or another one. A running host has its own open; a
 * PostgreSQL is compared by what opens it.
 * @throws {IdentityError}
 */
export async function assertDatabaseThere(directory: string): Promise<void> {
  const config = await readConfig(directory)
  const identity = await readIdentity(directory)
  if (config.databaseFile === undefined || !identity?.database) return
  if ((await callRunningHost(directory, 'state')) !== undefined) return
  assertOwnDatabase(config, identity, readFileId(config.databaseFile))
}
