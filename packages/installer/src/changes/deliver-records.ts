import { readConfig, readPendingRecords } from '@mortise/application'
import { callApplication, callRunningHost } from '@mortise/host'

/**
 * Writes the records of commands into the database: through the running host, or directly on
 * PostgreSQL. A SQLite file that no host has open is left alone, because a host may be about to
 * start, and will write the records itself. On failure the records wait.
 */
export async function deliverRecords(directory: string): Promise<void> {
  try {
    if ((await readPendingRecords(directory)).length === 0) return
    const { databaseFile } = await readConfig(directory)
    if (databaseFile !== undefined) await callRunningHost(directory, 'audit', { limit: 0 })
    else await callApplication(directory, 'audit', { limit: 0 })
  } catch {
    // The command has done its work, and the records are safe in the folder.
  }
}
