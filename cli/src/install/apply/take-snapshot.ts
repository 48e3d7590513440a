import { callApplication, type Lock, makeFolder, readConfig } from '@mortise/host'
import { snapshotFile, snapshotsFolder } from '../../application/snapshots.ts'
import { assertRoom, sizeOfDatabase } from '../../data/disk-room.ts'
import { snapshotFailed } from '../../failures/index.ts'
import { isPending, migrationNames, readLedger } from '../../store/applied-migrations.ts'

/**
 * Copies the database, unless `modules` bring no migration that it lacks, or it is a new one.
 * @param generation the one that is left
 * @returns whether it was copied
 * @throws {Failure} where it cannot be: nothing is left then
 */
export async function takeSnapshot(
  directory: string,
  generation: number,
  modules: Lock['modules'],
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
    // How large a copy of a PostgreSQL gets is not known before.
    if (databaseFile !== undefined) await assertRoom(folder, await sizeOfDatabase(databaseFile))
    await callApplication(directory, 'backup', { file })
  } catch (error) {
    throw snapshotFailed({ reason: (error as Error).message, cause: error })
  }
  return true
}
