import { MigrationError } from '../port/errors.ts'
import type { AppliedMigration, LedgerEntry } from '../port/storage.ts'

export interface Undoable extends LedgerEntry {
  readonly down: string
  readonly tables: string
}

export const nameOf = ({ module, name }: AppliedMigration) => `${name} of ${module}`

/**
 * Those of the ledger that are meant, newest first.
 * @throws {MigrationError} where one cannot be undone, or not alone
 */
export function planUndo<Entry extends LedgerEntry>(
  ledger: readonly Entry[],
  migrations: readonly AppliedMigration[],
): (Entry & Undoable)[] {
  const isMeant = (entry: Entry) =>
    migrations.some(({ module, name }) => module === entry.module && name === entry.name)
  const stays = new Map<string, Entry>()
  const undoable: (Entry & Undoable)[] = []
  for (const entry of ledger.toReversed()) {
    if (!isMeant(entry)) {
      stays.set(entry.module, entry)
      continue
    }
    const later = stays.get(entry.module)
    if (later !== undefined) {
      throw new MigrationError(
        `${nameOf(entry)} cannot be undone alone: ${later.name} was applied after it. Undo that one too`,
      )
    }
    undoable.push(assertUndoable(entry))
  }
  return undoable
}

function assertUndoable<Entry extends LedgerEntry>(entry: Entry): Entry & Undoable {
  const { down, tables } = entry
  if (down === null) {
    throw new MigrationError(
      `${nameOf(entry)} is irreversible: it came without a way back. Nothing was changed`,
    )
  }
  if (tables === null) {
    throw new MigrationError(
      `${nameOf(entry)} was applied by an older host, which did not record what it may touch. ` +
        'Start this host once with the module installed, then try again',
    )
  }
  return { ...entry, down, tables }
}
