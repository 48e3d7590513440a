import type { PostgresDialect } from '../archive/portable-file.ts'
import { checksumOf } from '../migrations/migration-files.ts'
import { prefixOf } from '../migrations/module-prefixes.ts'
import { MigrationError, UnknownMigrationError } from '../port/errors.ts'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import { type PostgresLedgerEntry, readPortableSets } from './dialect.ts'

/**
 * The PostgreSQL form of a SQLite database's ledger: from the extra tables of a copy from
 * PostgreSQL, otherwise from the migration files of packages.
 *
 * @param sets of all available packages, of any version
 * @throws {MigrationError} if a migration is not found
 */
export async function toPostgresLedger(
  ledger: readonly LedgerEntry[],
  forms: readonly PostgresDialect[],
  sets: readonly MigrationSet[],
): Promise<PostgresLedgerEntry[]> {
  const found: PostgresLedgerEntry[] = []
  for (const entry of ledger) {
    const { module, name } = entry
    const known = forms.find((form) => form.module === module && form.name === name)
    const { up, down, sqliteUp } = known ?? (await findForm(entry, sets))
    const own = { tables: prefixOf(entry), up, down, checksum: checksumOf(up) }
    found.push({ ...entry, ...own, sqliteUp, sqliteDown: entry.down })
  }
  return found
}

async function findForm(
  { module, name, checksum }: LedgerEntry,
  sets: readonly MigrationSet[],
): Promise<PostgresDialect> {
  let reason: string | undefined
  for (const set of sets.filter((set) => set.module === module)) {
    try {
      const [read] = await readPortableSets([set])
      const file = read?.files.find((file) => file.name === name && file.sqlite.checksum === checksum)
      if (file !== undefined) return { module, name, up: file.up, down: file.down, sqliteUp: file.sqlite.up }
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      reason = error.message
    }
  }
  const unknown = `the PostgreSQL form of ${name} of ${module} is unknown`
  if (reason === undefined) {
    const message = `${unknown}: it is in no package of the store. Install the version of ${module} that has it`
    throw new UnknownMigrationError(message, module)
  }
  throw new MigrationError(`${unknown}: ${reason}. Install a version of ${module} that supports both engines`)
}
