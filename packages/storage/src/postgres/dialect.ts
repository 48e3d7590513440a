import { randomBytes } from 'node:crypto'
import { Sql, sql } from '@mortise/module-sdk/sql'
import type { Dialect, SchemaSteps } from '../migrations/dialect.ts'
import { type ReadSet, readSets, run } from '../migrations/migrate.ts'
import { checksumOf, type MigrationFile } from '../migrations/migration-files.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { DatabaseSchema, LedgerEntry, MigrationSet } from '../port/storage.ts'
import { CATALOG } from './catalog.ts'
import { RELATIONS_OF_OTHERS } from './own-relations.ts'
import { refusedMigration } from './refused-migration.ts'

/** With its form on SQLite too: modules are probed on SQLite before their installation. */
export interface PostgresLedgerEntry extends LedgerEntry {
  readonly up: string
  readonly sqliteUp: string
  readonly sqliteDown: string | null
}

/** A migration for PostgreSQL, with its form for SQLite. */
export interface PortableMigration extends MigrationFile {
  readonly sqlite: MigrationFile
}

/** @throws {MigrationError} if a file is unreadable, refused, or missing for one of the engines */
export async function readPortableSets(sets: readonly MigrationSet[]): Promise<ReadSet<PortableMigration>[]> {
  const [own, sqlite] = await Promise.all([readSets(sets, 'postgres'), readSets(sets, 'sqlite')])
  for (const { set, files } of own) for (const file of files) await assertAllowed(set.module, file)
  return own.map(({ set, files }, at) => ({
    set,
    files: files.map((file, index) => ({ ...file, sqlite: sqlite[at]?.files[index] as MigrationFile })),
  }))
}

/** @throws {MigrationError} for a statement that belongs to the engine */
export async function assertAllowed(
  module: string,
  { path, up, down }: Pick<MigrationFile, 'path' | 'up' | 'down'>,
): Promise<void> {
  const reason = (await refusedMigration(up)) ?? (await refusedMigration(down ?? ''))
  if (reason !== undefined) throw new MigrationError(`${path} of ${module} is refused: ${reason}`)
}

/** PostgreSQL checks foreign keys itself. */
export const dialect: Dialect<PostgresLedgerEntry, PortableMigration> = {
  ledger: {
    create: `
      CREATE TABLE IF NOT EXISTS mortise_migration (
        module TEXT NOT NULL,
        name TEXT NOT NULL,
        checksum TEXT NOT NULL,
        down TEXT, -- NULL: irreversible
        applied_at BIGINT NOT NULL, -- epoch milliseconds
        tables TEXT NOT NULL, -- the prefix of the module
        up TEXT NOT NULL,
        sqlite_up TEXT NOT NULL,
        sqlite_down TEXT,
        position BIGINT GENERATED ALWAYS AS IDENTITY, -- the order of application
        PRIMARY KEY (module, name)
      )`,
    find: sql`SELECT 1 WHERE to_regclass('mortise_migration') IS NOT NULL`,
    more: { up: 'up', sqliteUp: 'sqlite_up', sqliteDown: 'sqlite_down' },
    order: 'position',
  },

  entryOf: ({ module, tables }, { name, checksum, up, down, sqlite }) => ({
    ...{ module, name, checksum, up, down, tables, appliedAt: Date.now() },
    ...{ sqliteUp: sqlite.up, sqliteDown: sqlite.down },
  }),

  objects: new Sql([CATALOG], []),
  ofOthers: new Sql([RELATIONS_OF_OTHERS], []),

  // A role that owns its schema and nothing more does without: the migrations were tried on SQLite.
  *alone(work) {
    const [role] = (yield sql`
      SELECT has_database_privilege(current_database(), 'CREATE') AS creates`) as [{ creates: number }]
    if (role.creates === 1) yield* inEmptySchema(work)
  },

  *drop(module, objects) {
    const named = (type: string) => objects.filter((object) => object.type === type).map(({ name }) => name)
    const drop = (what: string) =>
      run(
        `DROP ${what}`,
        `the tables of ${module} cannot be dropped`,
        'First purge the modules that need them',
      )
    const [views, tables] = [named('view'), named('table')]
    // All in one statement, so that mutual references do not block the drop.
    if (views.length > 0) yield* drop(`VIEW ${views.map(quoted).join(', ')}`)
    if (tables.length > 0) yield* drop(`TABLE ${tables.map(quoted).join(', ')}`)
    // With its arguments as the catalog writes them.
    for (const { type, name } of objects) {
      if (type.startsWith('function ')) yield* drop(`FUNCTION ${quoted(name)}${type.slice(9)}`)
    }
    return tables
  },
}

/** Runs `work` in an empty schema, and rolls it back. */
export function* inEmptySchema(work: () => SchemaSteps<void>): SchemaSteps<void> {
  const schema = `mortise_rehearsal_${randomBytes(6).toString('hex')}`
  yield 'SAVEPOINT rehearsal'
  yield `CREATE SCHEMA ${schema}`
  yield `SET LOCAL search_path = ${schema}`
  yield* work()
  yield 'ROLLBACK TO rehearsal; RELEASE rehearsal'
}

/** The same with temporary tables, for a role that may create no schema. */
export function* onTemporaryTables(work: () => SchemaSteps<void>): SchemaSteps<void> {
  yield 'SAVEPOINT rehearsal'
  yield 'SET LOCAL search_path = pg_temp'
  yield* work()
  yield 'ROLLBACK TO rehearsal; RELEASE rehearsal'
}

/** The same schema on SQLite, with the ledger that its migrations would have left there. */
export function sqliteSchema(ledger: readonly PostgresLedgerEntry[]): DatabaseSchema {
  return {
    statements: ledger.map(({ sqliteUp }) => sqliteUp),
    ledger: ledger.map(({ up, sqliteUp, sqliteDown, ...entry }) => ({
      ...entry,
      checksum: checksumOf(sqliteUp),
      down: sqliteDown,
    })),
  }
}
