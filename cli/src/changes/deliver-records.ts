import { callApplication, callRunningHost, readConfig, readPendingRecords } from '@mortise/host'

/**
 * Has what commands have recorded taken into the database, by the running host or, on PostgreSQL, directly. A SQLite
 * that nobody has open is left alone, since a host may be about to start on it, and takes it in then. Where it fails
 * the records wait.
 */
export async function deliverRecords(directory: string): Promise<void> {
  try {
    if ((await readPendingRecords(directory)).length === 0) return
    const { databaseFile } = await readConfig(directory)
    if (databaseFile !== undefined) await callRunningHost(directory, 'audit', { limit: 0 })
    else await callApplication(directory, 'audit', { limit: 0 })
  } catch {
    // Whatever keeps them from the database, what was done is done: they are in the folder, and nothing is lost.
  }
}
