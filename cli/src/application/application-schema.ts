import { type DatabaseSchema, databaseSchema } from '@mortise/host'
import { askDatabase } from './ask-database.ts'

/** The schema and the ledger of an application, from its running host or from the database. @throws {Failure} */
export async function applicationSchema(directory: string): Promise<DatabaseSchema> {
  return await askDatabase({ directory, method: 'GET', path: '/schema' }, () => databaseSchema(directory))
}
