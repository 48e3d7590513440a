import { openDatabase } from '../files/open-database.ts'

/** The damage of a database file that nobody has open; undefined if intact. */
export function findCorruption(file: string): string | undefined {
  try {
    const database = openDatabase(file, { readonly: true, fileMustExist: true })
    try {
      const result = database.pragma('integrity_check(1)', { simple: true })
      return result === 'ok' ? undefined : String(result)
    } finally {
      database.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}
