import { type LockFile, readConfig } from '@mortise/application'
import { snapshotFile, snapshotsFolder } from '@mortise/application/folder'
import { callApplication } from '@mortise/host'
import { makeFolder } from '@mortise/storage'
import { assertRoom, sizeOfDatabase } from '../../data/disk-room.ts'
import { snapshotFailed } from '../../failures/index.ts'
import { isPending, migrationNames, readLedger } from '../../store/applied-migrations.ts'

/**
 * Copies the database, unless it is new or `modules` have no new migrations for it.
 * @param generation the generation that the change leaves
 * @returns whether it was copied
 * @throws {Failure} if the copy fails; no partial copy stays
 */
export async function takeSnapshot(
  directory: string,
  generation: number,
  modules: LockFile['modules'],
): Promise<boolean> {
  const names = await migrationNames(directory, modules)
  if ([...names.values()].every(({ size }) => size === 0)) return false
  const ledger = await readLedger(directory)
  if (ledger.length === 0 || !isPending(names, ledger)) return false
  const folder = snapshotsFolder(directory)
  const file = snapshotFile(directory, generation)
  try {
    await makeFolder(folder, 0o700)
    const { databaseFile } = await readConfig(directory)
    // The size of a copy of a PostgreSQL database is unknown in advance.
    if (databaseFile !== undefined) await assertRoom(folder, await sizeOfDatabase(databaseFile))
    await callApplication(directory, 'backup', { file })
  } catch (error) {
    throw snapshotFailed({ reason: (error as Error).message, cause: error })
  }
  return true
}
