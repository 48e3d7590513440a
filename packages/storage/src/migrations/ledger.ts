import { isDeepStrictEqual } from 'node:util'
import { Sql } from '@mortise/module-sdk/sql'
import type { LedgerEntry } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'

// The table `mortise_migration` lists the applied migrations. Its rows change in the transaction
// that changes the schema.

const COLUMNS = {
  module: 'module',
  name: 'name',
  checksum: 'checksum',
  down: 'down',
  tables: 'tables',
  appliedAt: 'applied_at',
}

/** In order of application. */
export function* readLedger<Entry extends LedgerEntry>({
  ledger,
}: Pick<Dialect<Entry>, 'ledger'>): SchemaSteps<Entry[]> {
  const found: unknown[] = yield ledger.find
  if (found.length === 0) return []
  const columns = Object.entries({ ...COLUMNS, ...ledger.more }).map(
    ([name, column]) => `${column} AS "${name}"`,
  )
  const text = `SELECT ${columns.join(', ')} FROM mortise_migration ORDER BY ${ledger.order}`
  return yield new Sql([text], [])
}

/** The statement that inserts an entry. */
export function insertion<Entry extends LedgerEntry>({ ledger }: Dialect<Entry>, entry: Entry): Sql {
  const columns = Object.entries({ ...COLUMNS, ...ledger.more })
  const between = columns.map((_, index) => (index === 0 ? '' : ', ')).slice(1)
  return new Sql(
    [
      `INSERT INTO mortise_migration (${columns.map(([, column]) => column).join(', ')}) VALUES (`,
      ...between,
      ')',
    ],
    columns.map(([name]) => entry[name as keyof LedgerEntry]),
  )
}

/** Creates a ledger with these entries. */
export function* adoptLedger<Entry extends LedgerEntry>(
  dialect: Dialect<Entry>,
  entries: readonly Entry[],
): SchemaSteps<void> {
  yield dialect.ledger.create
  for (const entry of entries) yield insertion(dialect, entry)
}

/** Whether both list the same applications of the same migrations. */
export function isSameLedger(one: readonly LedgerEntry[], other: readonly LedgerEntry[]): boolean {
  const identity = ({ module, name, checksum, appliedAt }: LedgerEntry) => [module, name, checksum, appliedAt]
  return isDeepStrictEqual(one.map(identity), other.map(identity))
}
