import { quoted } from '../port/quoted.ts'
import type { DatabaseContents } from '../port/storage.ts'
import { queryOn, readLedger } from './change-schema.ts'
import { sqliteSchema } from './dialect.ts'
import { readTables } from './tables.ts'
import { withConnection } from './with-connection.ts'

/** See `readContents`. @throws {StorageUnreachableError} */
export async function readPostgresContents(url: string): Promise<DatabaseContents> {
  return await withConnection(url, async (client) => {
    const query = queryOn(client)
    const rows: Record<string, number> = {}
    for (const { name } of await readTables(query)) {
      rows[name] = (await query(`SELECT count(*) AS count FROM ${quoted(name)}`)).rows[0].count
    }
    return { ledger: sqliteSchema(await readLedger(query)).ledger, rows }
  })
}
