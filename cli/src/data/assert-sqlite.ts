import { Failure } from '../failure.ts'
import { readConfig } from '../host.ts'

/**
 * For what is made of the SQLite file, which it answers.
 * @throws {Failure} where the application has a PostgreSQL database; `instead` says how it is done there
 */
export async function assertSqlite(directory: string, what: string, instead: string): Promise<string> {
  const { databaseFile } = await readConfig(directory)
  if (databaseFile !== undefined) return databaseFile
  throw new Failure(
    'refused',
    'not-on-postgres',
    `${what} works with SQLite only, and the database of this application is a PostgreSQL.`,
    `Nothing was changed. ${instead}`,
  )
}
