import { extractExtraTables } from '../archive/portable-file.ts'
import { createPrivateFile } from '../files/file-lock.ts'
import { openDatabase } from '../files/open-database.ts'
import { adoptLedger } from '../migrations/ledger.ts'
import { prefixesOf } from '../migrations/module-prefixes.ts'
import type { ModuleData } from '../port/storage.ts'
import { changeSchema } from './change-schema.ts'
import { Connection } from './connection.ts'
import { archivedLedger, copyArchived, withArchived } from './copy-archived.ts'
import { dialect } from './dialect.ts'

/**
 * Writes the tables, rows and ledger rows of one module, from a copy of a database that nobody has open, to
 * `file`, which is new and for its owner only. (A file of its own: what was deleted once is still in the free
 * pages of a copy, and VACUUM would give the rows of many tables other rowids.)
 *
 * @returns undefined where the database has nothing of the module
 * @throws {MigrationError} where its tables cannot be told from those of others
 */
export function extractModule(copy: string, module: string, file: string): ModuleData | undefined {
  createPrivateFile(file)
  const database = openDatabase(file)
  try {
    database.pragma('trusted_schema = OFF')
    const connection = new Connection(database)
    return withArchived(connection, copy, () =>
      changeSchema(connection, function* () {
        const ledger = archivedLedger(connection)
        const own = ledger.filter((entry) => entry.module === module)
        if (own.length === 0) return undefined
        yield* adoptLedger(dialect, own)
        const prefixes = prefixesOf(ledger, module)
        extractExtraTables(database, module, prefixes)
        return { module, tables: copyArchived(connection, prefixes) }
      }),
    )
  } finally {
    database.close()
  }
}
