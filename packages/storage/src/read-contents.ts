import type { DatabaseAddress } from './open-storage.ts'
import type { DatabaseContents } from './port/storage.ts'
import { readFileContents } from './sqlite/read-file-contents.ts'

/**
 * Counts what is in a database. A host may serve from it meanwhile. It takes as long as reading the smallest index of
 * each table does.
 */
export async function readContents(place: DatabaseAddress): Promise<DatabaseContents> {
  if ('file' in place) return readFileContents(place.file)
  const { readPostgresContents } = await import('./postgres/read-contents.ts')
  return await readPostgresContents(place.url)
}
