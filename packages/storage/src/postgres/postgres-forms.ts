import type { PostgresDialect } from '../archive/portable-file.ts'
import { checksumOf } from '../migrations/migration-files.ts'
import { MigrationError, UnknownMigrationError } from '../port/errors.ts'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import { Connection } from '../sqlite/connection.ts'
import { openSeparate } from '../sqlite/open-connections.ts'
import { readLedger } from '../sqlite/schema.ts'
import { assertAllowed, type PostgresLedgerEntry, readPortableSets } from './dialect.ts'

/**
 * The PostgreSQL form of a SQLite database's ledger: from the migration files of packages, and for
 * what none of them has from the extra tables of a copy from PostgreSQL.
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
    const { form, reason } = await packagedForm(entry, sets)
    const { up, down, sqliteUp } = form ?? (await copiedForm(entry, forms, reason))
    const own = { up, down, checksum: checksumOf(up) }
    found.push({ ...entry, ...own, sqliteUp, sqliteDown: entry.down })
  }
  return found
}

/** The modules with migrations that run from the text in a copy, since no package has them. */
export async function modulesOfCopy(file: string, sets: readonly MigrationSet[]): Promise<string[]> {
  const database = openSeparate(file)
  try {
    const names = new Set<string>()
    for (const entry of readLedger(new Connection(database)))
      if ((await packagedForm(entry, sets)).form === undefined) names.add(entry.module)
    return [...names]
  } finally {
    database.close()
  }
}

interface Packaged {
  readonly form?: PostgresDialect
  /** Why there is none, if a package is at fault. */
  readonly reason?: string | undefined
}

async function packagedForm(
  { module, name, checksum }: LedgerEntry,
  sets: readonly MigrationSet[],
): Promise<Packaged> {
  let reason: string | undefined
  for (const set of sets.filter((set) => set.module === module)) {
    try {
      const [read] = await readPortableSets([set])
      const file = read?.files.find((file) => file.name === name && file.sqlite.checksum === checksum)
      if (file !== undefined)
        return { form: { module, name, up: file.up, down: file.down, sqliteUp: file.sqlite.up } }
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error
      reason = error.message
    }
  }
  return { reason }
}

async function copiedForm(
  { module, name }: LedgerEntry,
  forms: readonly PostgresDialect[],
  reason: string | undefined,
): Promise<PostgresDialect> {
  const copied = forms.find((form) => form.module === module && form.name === name)
  if (copied !== undefined) {
    await assertAllowed(module, { path: name, ...copied })
    return copied
  }
  const unknown = `the PostgreSQL form of ${name} of ${module} is unknown`
  if (reason === undefined) {
    const message = `${unknown}: it is in no package of the store. Install the version of ${module} that has it`
    throw new UnknownMigrationError(message, module)
  }
  throw new MigrationError(`${unknown}: ${reason}. Install a version of ${module} that supports both engines`)
}
