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
 * Writes the tables, rows and ledger rows of one module from `copy`, which nobody has open, to the
 * new file `file` for its owner only. (A new file, because deleted data stay in the free pages of a
 * copy, and VACUUM would change the rowids of many tables.)
 *
 * @returns undefined if the database has nothing of the module
 * @throws {MigrationError} if its tables cannot be separated from those of others
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
