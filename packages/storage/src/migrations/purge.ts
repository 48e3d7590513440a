import { type Sql, sql } from '@mortise/module-sdk/sql'
import { MigrationError } from '../port/errors.ts'
import type { ModuleData } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'
import type { SchemaObject } from './foreign-change.ts'
import { readLedger } from './ledger.ts'
import { isOwnObject, prefixesOf } from './module-prefixes.ts'

/** See `Storage.purge`. */
export function* purgeModule(dialect: Dialect, module: string, record?: Sql): SchemaSteps<ModuleData> {
  const ledger = yield* readLedger(dialect)
  if (!ledger.some((entry) => entry.module === module)) return { module, tables: [] }
  const isTheirs = yield* isOwnObject(dialect, prefixesOf(ledger, module))
  const objects: SchemaObject[] = yield dialect.objects
  const tables = yield* dialect.drop(module, objects.filter(isTheirs))
  const rest: SchemaObject[] = yield dialect.objects
  const left = rest.find(isTheirs)
  if (left !== undefined) {
    throw new MigrationError(
      `the data of ${module} cannot be dropped: the ${left.type} "${left.name}" is no table, view or function. ` +
        'Drop it by hand, then try again',
    )
  }
  yield sql`DELETE FROM mortise_migration WHERE module = ${module}`
  if (record) yield record
  return { module, tables }
}
