import { isDeepStrictEqual } from 'node:util'
import type { Sql } from '@mortise/module-sdk'
import { assertNothingAside } from '../archive/portable-file.ts'
import { isOwnObject, prefixesOf } from '../migrations/module-prefixes.ts'
import { MigrationError } from '../port/errors.ts'
import type { ModuleData } from '../port/storage.ts'
import { changeSchema, orphanIn } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { archivedLedger, copyArchived, withArchived } from './copy-archived.ts'
import { prepareLedger, readLedger, recordMigration } from './ledger.ts'
import { readSchema } from './schema.ts'

/** See `Storage.restoreModule`. @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened */
export function restoreModule(connection: Connection, file: string, record?: Sql): ModuleData {
  return withArchived(connection, file, () =>
    changeSchema(connection, () => {
      const entries = archivedLedger(connection)
      const module = entries[0]?.module
      if (module === undefined || entries.some((entry) => entry.module !== module)) {
        throw new MigrationError(`${file} does not hold the data of one module`)
      }
      assertNothingAside(connection.database)
      prepareLedger(connection)
      const present = readLedger(connection).filter((entry) => entry.module === module)
      if (isDeepStrictEqual(present, entries)) return { module, tables: [] }
      if (present.length > 0)
        throw inTheWay(module, `${present.at(-1)?.name} of it is applied to the database`)
      for (const entry of entries) recordMigration(connection, entry)
      const prefixes = prefixesOf(readLedger(connection), module)
      const taken = readSchema(connection).find(isOwnObject(prefixes))
      if (taken !== undefined) throw inTheWay(module, `there is a ${taken.type} "${taken.name}"`)
      const tables = copyArchived(connection, prefixes)
      assertKeysHold(connection, prefixes)
      if (record) connection.changes(record)
      return { module, tables }
    }),
  )
}

function assertKeysHold(connection: Connection, prefixes: readonly string[]): void {
  const orphan = orphanIn(connection, prefixes)
  if (orphan === undefined) return
  throw new MigrationError(
    `rows of "${orphan.table}" in the archive refer to rows of "${orphan.parent}" that are gone by now. Nothing was changed`,
  )
}

function inTheWay(module: string, reason: string): MigrationError {
  return new MigrationError(
    `the data of ${module} cannot be brought back: ${reason}. Nothing was changed; purge what is there first ` +
      `(app module-remove --purge ${module})`,
  )
}
