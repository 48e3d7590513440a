import { sql } from '@mortise/module-sdk/sql'
import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'
import { readLedger } from './ledger.ts'
import { assertKeysHold, confined } from './migrate.ts'

const TELL = 'Nothing was changed; tell the author of the module'

/** See `Storage.undo`. */
export function* undoMigrations(
  dialect: Dialect,
  migrations: readonly AppliedMigration[],
): SchemaSteps<void> {
  const entries = planUndo(yield* readLedger(dialect), migrations)
  for (const entry of entries) {
    yield* confined(dialect, entry.tables, entry.down, {
      failed: `${nameOf(entry)} cannot be undone`,
      strayed: `undoing ${nameOf(entry)}`,
      remedy: TELL,
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

interface Undoable extends LedgerEntry {
  readonly down: string
}

const nameOf = ({ module, name }: AppliedMigration) => `${name} of ${module}`

/** Newest first. @throws {MigrationError} if one cannot be undone, or not alone */
function planUndo(ledger: readonly LedgerEntry[], migrations: readonly AppliedMigration[]): Undoable[] {
  const isMeant = (entry: LedgerEntry) =>
    migrations.some(({ module, name }) => module === entry.module && name === entry.name)
  const stays = new Map<string, LedgerEntry>()
  const undoable: Undoable[] = []
  for (const entry of ledger.toReversed()) {
    if (!isMeant(entry)) {
      stays.set(entry.module, entry)
      continue
    }
    const later = stays.get(entry.module)
    if (later !== undefined) {
      throw new MigrationError(
        `${nameOf(entry)} cannot be undone alone: ${later.name} was applied after it. Undo it too`,
      )
    }
    undoable.push(assertUndoable(entry))
  }
  return undoable
}

function assertUndoable(entry: LedgerEntry): Undoable {
  const { down } = entry
  if (down === null) {
    throw new MigrationError(
      `${nameOf(entry)} is irreversible: it has no down migration. Nothing was changed`,
    )
  }
  return { ...entry, down }
}
