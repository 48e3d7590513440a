import { foreignChange } from '../migrations/foreign-change.ts'
import { nameOf, planUndo, type Undoable } from '../migrations/plan-undo.ts'
import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration } from '../port/storage.ts'
import { readCatalog } from './catalog.ts'
import { type Query, readLedger } from './ledger.ts'
import { run } from './migrate.ts'

/** See `Storage.undo`. Within a transaction. */
export async function undoMigrations(query: Query, migrations: readonly AppliedMigration[]): Promise<void> {
  for (const entry of planUndo(await readLedger(query), migrations)) await undoOne(query, entry)
}

async function undoOne(query: Query, entry: Undoable): Promise<void> {
  const before = await readCatalog(query)
  await run(
    query,
    entry.down,
    (reason) =>
      `${nameOf(entry)} cannot be undone: ${reason}. Nothing was changed; tell the author of the module`,
  )
  const change = foreignChange(entry.tables, before, await readCatalog(query))
  if (change !== undefined) {
    throw new MigrationError(
      `undoing ${nameOf(entry)} ${change}, but it may only touch "${entry.tables}" and what begins with ` +
        `"${entry.tables}_". Nothing was changed; tell the author of the module`,
    )
  }
  await query('DELETE FROM mortise_migration WHERE module = $1 AND name = $2', [entry.module, entry.name])
}
