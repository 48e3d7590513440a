import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { openStorage } from '@mortise/host'
import { dropExtraTables, type ForeignParts, findCorruption, readFileContents } from '@mortise/storage'
import { badArchive } from '../failures/index.ts'
import { whileBackingUp } from '../store/staging.ts'
import { DATA } from './archive-manifest.ts'
import { checkArchive } from './check-archive.ts'

export interface Verified {
  readonly file: string
  readonly kind: 'application' | 'module'
  readonly generation: number
  /** When the backup was made. */
  readonly at: string
  /** The rows of each table of the restored database. */
  readonly rows: Readonly<Record<string, number>>
  /** What a restoration leaves out or finds changed, since no migration makes it. */
  readonly foreign: ForeignParts
}

/**
 * Proves that an archive restores: it checks each part against its hash, restores the data to a
 * scratch database, opens that as a host does, and checks its integrity and the rows of each table.
 * Nothing of the application is touched.
 * @throws {Failure} not found (3), or it does not restore (4)
 */
export async function verifyArchive(directory: string, file: string): Promise<Verified> {
  return await whileBackingUp(directory, async (folder) => {
    const { manifest, rows, foreign } = await checkArchive(directory, file, folder)
    const { kind, generation, at } = manifest
    try {
      return { file, kind, generation, at, rows: await restored(join(folder, DATA), rows), foreign }
    } catch (error) {
      const reason = (error as Error).message.replaceAll(`${folder}/`, '')
      throw badArchive({ file, reason, cause: error })
    }
  })
}

/** @throws {Error} unless the database opens and has these rows */
async function restored(data: string, expected: Verified['rows']): Promise<Verified['rows']> {
  // SQLite has no place for the rows of these: they were read as they are.
  const extra = new Set(dropExtraTables(data))
  const storage = await openStorage({ file: data })
  try {
    await storage.applied()
  } finally {
    await storage.close()
  }
  const damage = findCorruption(data)
  if (damage !== undefined) throw new Error(`the restored database is damaged: ${damage}`)
  const { rows } = readFileContents(data)
  const ofBoth = (all: Verified['rows']) =>
    Object.fromEntries(Object.entries(all).filter(([table]) => !extra.has(table)))
  if (isDeepStrictEqual(ofBoth(rows), ofBoth(expected))) return expected
  throw new Error(`the rows differ: ${JSON.stringify(expected)} became ${JSON.stringify(rows)}`)
}
