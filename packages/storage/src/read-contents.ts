import type { DatabaseAddress } from './open-storage.ts'
import type { DatabaseContents } from './port/storage.ts'
import { readFileContents } from './sqlite/read-file-contents.ts'

/**
 * Counts the contents of a database, while a host may serve from it. Takes as long as a scan of
 * each table's smallest index.
 */
export async function readContents(place: DatabaseAddress): Promise<DatabaseContents> {
  if ('file' in place) return readFileContents(place.file)
  const { readPostgresContents } = await import('./postgres/read-contents.ts')
  return await readPostgresContents(place.url)
}
