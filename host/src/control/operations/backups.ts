import { isMigrated } from '@mortise/application'
import { DatabaseError } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import {
  backupTimes,
  claimBackup as claim,
  noBackups,
  noteBackup as note,
} from '../../events/backup-lease.ts'
import { databaseOperation, hostOperation } from '../operation.ts'

/**
 * Claims the scheduled backup that is due; `begun` is null if none is. While the data move to another
 * database, and until the restart, none is: the next host backs up the other database.
 */
export const claimBackup = hostOperation({
  input: Type.Object({ every: Type.Integer() }),
  run: async ({ storage }, { every }) => ({
    begun: (await unlessHeld(storage.transaction(() => claim(every)))) ?? null,
  }),
})

export const noteBackup = hostOperation({
  input: Type.Object({
    outcome: Type.Unsafe<'running' | 'done' | 'failed'>(Type.String()),
    begun: Type.Integer(),
    every: Type.Integer(),
  }),
  async run({ storage }, { outcome, begun, every }) {
    await unlessHeld(storage.transaction(() => note(outcome, begun, every)))
    return {}
  },
})

async function unlessHeld<Output>(write: Promise<Output>): Promise<Output | undefined> {
  try {
    return await write
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'held') return undefined
    throw error
  }
}

/** The times of scheduled backups, on any host of the database. */
export const backups = databaseOperation({
  reads: true,
  run: async ({ storage }) =>
    isMigrated(await storage.applied()) ? await storage.snapshot(backupTimes) : noBackups,
  withoutDatabase: async () => noBackups,
})
