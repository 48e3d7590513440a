import { openDatabase } from './open-database.ts'
import { tableNames } from './portable-file.ts'

/**
 * Takes the id out of a database file, unless it is `own`: data that come from elsewhere are a database of their own.
 * @returns whether it is
 */
export function forgetIdentity(file: string, own: string | undefined): boolean {
  const database = openDatabase(file)
  try {
    if (!tableNames(database).includes('mortise_identity')) return false
    database.prepare('DELETE FROM mortise_identity WHERE id IS NOT ?').run(own ?? null)
    return database.prepare('SELECT id FROM mortise_identity').get() !== undefined
  } finally {
    database.close()
  }
}
