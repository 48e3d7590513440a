import type { Sql } from '@mortise/module-sdk'
import { MigrationError } from '../port/errors.ts'
import type { LedgerEntry, ModuleData } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'
import type { SchemaObject } from './foreign-change.ts'
import { isSameLedger, readLedger } from './ledger.ts'
import { assertKeysHold } from './migrate.ts'
import { isOwnObject, prefixesOf } from './module-prefixes.ts'

/**
 * See `Storage.restoreModule`.
 * @param entries the ledger of the file
 * @param copy makes the tables with these prefixes, with their rows and ledger rows; returns the
 * tables
 */
export function* restoreModule(
  dialect: Dialect,
  file: string,
  entries: readonly LedgerEntry[],
  copy: (prefixes: readonly string[]) => SchemaSteps<string[]>,
  record?: Sql,
): SchemaSteps<ModuleData> {
  const module = entries[0]?.module
  if (module === undefined || entries.some((entry) => entry.module !== module)) {
    throw new MigrationError(`${file} does not contain the data of one module`)
  }
  yield dialect.ledger.create
  const ledger = yield* readLedger(dialect)
  const present = ledger.filter((entry) => entry.module === module)
  if (isSameLedger(present, entries)) return { module, tables: [] }
  if (present.length > 0)
    throw inTheWay(module, `its migration ${present.at(-1)?.name} is applied to the database`)
  const prefixes = prefixesOf([...ledger, ...entries], module)
  const objects: SchemaObject[] = yield dialect.objects
  const taken = objects.find(yield* isOwnObject(dialect, prefixes))
  if (taken !== undefined) throw inTheWay(module, `the ${taken.type} "${taken.name}" exists`)
  const tables = yield* copy(prefixes)
  yield* assertKeysHold(
    dialect,
    prefixes,
    ({ table, parent }) =>
      `rows of "${table}" in the archive refer to rows of "${parent}" that no longer exist. Nothing was changed`,
  )
  if (record) yield record
  return { module, tables }
}

function inTheWay(module: string, reason: string): MigrationError {
  return new MigrationError(
    `the module ${module} has data already: ${reason}. Nothing was changed; purge the present data first ` +
      `(app module-remove --purge ${module})`,
  )
}
