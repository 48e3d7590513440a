import { type Sql, sql } from '@mortise/module-sdk'
import { isOwnObject, prefixesOf } from '../migrations/module-prefixes.ts'
import { MigrationError } from '../port/errors.ts'
import type { ModuleData } from '../port/storage.ts'
import { changeSchema } from './change-schema.ts'
import type { Connection } from './connection.ts'
import { readLedger } from './ledger.ts'
import { dropObjects } from './module-data.ts'
import { readSchema } from './schema.ts'

/** See `Storage.purge`. @throws {DatabaseError} `busy` where the write lock is taken: nothing has happened */
export function purgeModule(connection: Connection, module: string, record?: Sql): ModuleData {
  const ledger = readLedger(connection)
  if (!ledger.some((entry) => entry.module === module)) return { module, tables: [] }
  const isTheirs = isOwnObject(prefixesOf(ledger, module))
  return changeSchema(connection, () => {
    const objects = readSchema(connection).filter(isTheirs)
    assertUnreferenced(connection, module, new Set(objects.map(({ name }) => name.toLowerCase())))
    const tables = dropObjects(connection, objects)
    connection.changes(sql`DELETE FROM mortise_migration WHERE module = ${module}`)
    if (record) connection.changes(record)
    return { module, tables }
  })
}

function assertUnreferenced(connection: Connection, module: string, own: ReadonlySet<string>): void {
  const keys = connection.all<{ child: string; parent: string }>(sql`
    SELECT child.name AS child, key."table" AS parent
    FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS key
    WHERE child.type = 'table'`)
  const key = keys.find(({ child, parent }) => own.has(parent.toLowerCase()) && !own.has(child.toLowerCase()))
  if (key === undefined) return
  throw new MigrationError(
    `the tables of ${module} cannot be dropped: "${key.child}" refers to "${key.parent}". Purge its module first`,
  )
}
