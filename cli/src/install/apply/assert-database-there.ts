import { assertOwnDatabase, callRunningHost, readConfig, readFileId, readIdentity } from '@mortise/host'

/**
 * Prevents changes if the SQLite file is lost or is another one. A running host already has its
 * file open, and PostgreSQL is checked when it is opened.
 * @throws {IdentityError}
 */
export async function assertDatabaseThere(directory: string): Promise<void> {
  const config = await readConfig(directory)
  const identity = await readIdentity(directory)
  if (config.databaseFile === undefined || !identity?.database) return
  if ((await callRunningHost(directory, 'state')) !== undefined) return
  assertOwnDatabase(config, identity, readFileId(config.databaseFile))
}
