import { sql } from '@mortise/module-sdk'
import type { AppliedMigration } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'
import { readLedger } from './ledger.ts'
import { assertKeysHold, confined } from './migrate.ts'
import { nameOf, planUndo } from './plan-undo.ts'

const TELL = 'Nothing was changed; tell the author of the module'

/** See `Storage.undo`. */
export function* undoMigrations(
  dialect: Dialect,
  migrations: readonly AppliedMigration[],
): SchemaSteps<void> {
  const entries = planUndo(yield* readLedger(dialect), migrations)
  for (const entry of entries) {
    yield* confined(dialect, entry.tables, entry.down, {
      failed: (reason) => `${nameOf(entry)} cannot be undone: ${reason}. ${TELL}`,
      strayed: (strayed) => `undoing ${nameOf(entry)} ${strayed}. ${TELL}`,
    })
    yield sql`DELETE FROM mortise_migration WHERE module = ${entry.module} AND name = ${entry.name}`
  }
  yield* assertKeysHold(
    dialect,
    entries.map(({ tables }) => tables),
    ({ table, parent }) =>
      `undoing ${entries.map(nameOf).join(', ')} leaves rows in "${table}" whose "${parent}" is gone. ${TELL}`,
  )
}
