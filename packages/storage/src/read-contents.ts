import type { DatabaseAddress } from './open-storage.ts'
import type { DatabaseContents } from './port/storage.ts'
import { readFileContents } from './sqlite/read-file-contents.ts'

/** Takes as long as a scan of each table's smallest index; hosts may serve meanwhile. */
export async function readContents(place: DatabaseAddress): Promise<DatabaseContents> {
  if ('file' in place) return readFileContents(place.file)
  const { readPostgresContents } = await import('./postgres/read-contents.ts')
  return await readPostgresContents(place.url)
}
