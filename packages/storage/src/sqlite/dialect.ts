import { sql } from '@mortise/module-sdk/sql'
import { openDatabase } from '../files/open-database.ts'
import type { Dialect } from '../migrations/dialect.ts'
import { isOwn, type SchemaObject } from '../migrations/foreign-change.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import { drive } from '../port/steps.ts'
import { assertAborts } from './assert-aborts.ts'
import { runStatements } from './run-statements.ts'

/** The tables behind virtual ones: SQLite creates and drops both together. */
export const shadowTables = sql`SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`

export const dialect: Dialect = {
  ledger: {
    create: `
      CREATE TABLE IF NOT EXISTS mortise_migration (
        module TEXT NOT NULL,
        name TEXT NOT NULL,
        checksum TEXT NOT NULL,
        down TEXT, -- NULL: irreversible
        applied_at BIGINT NOT NULL, -- epoch milliseconds
        tables TEXT NOT NULL, -- the prefix of the module
        PRIMARY KEY (module, name)
      )`,
    find: sql`SELECT 1 FROM sqlite_schema WHERE name = 'mortise_migration'`,
    more: {},
    // SQLite gives a new row the largest rowid in use plus one.
    order: 'rowid',
  },

  entryOf: ({ module, tables }, { name, checksum, down }) => ({
    ...{ module, name, checksum, down, tables },
    appliedAt: Date.now(),
  }),

  objects: sql`
    SELECT 0 AS temporary, type, name, tbl_name AS "table", sql FROM sqlite_schema
    UNION ALL
    SELECT 1, type, name, tbl_name, sql FROM sqlite_temp_schema`,

  *alone(work) {
    yield () => {
      const database = openDatabase(':memory:')
      try {
        database.pragma('foreign_keys = OFF')
        drive(
          work,
          (step) => runStatements(database, step as string),
          () => false,
        )
        database.pragma('foreign_keys = ON')
        assertAborts(database)
      } finally {
        database.close()
      }
    }
  },

  /** Other tables are unchanged, and may be large. */
  *orphanIn(prefixes) {
    const objects: SchemaObject[] = yield this.objects
    for (const { type, name } of objects) {
      if (type !== 'table' || !prefixes.some((prefix) => isOwn(prefix, name))) continue
      const [orphan] = yield sql`SELECT "table", parent FROM pragma_foreign_key_check(${name}) LIMIT 1`
      if (orphan !== undefined) return orphan
    }
    return undefined
  },

  *drop(module, objects) {
    const own = new Set(objects.map(({ name }) => name.toLowerCase()))
    const keys: { child: string; parent: string }[] = yield sql`
      SELECT child.name AS child, key."table" AS parent
      FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS key
      WHERE child.type = 'table'`
    const key = keys.find(
      ({ child, parent }) => own.has(parent.toLowerCase()) && !own.has(child.toLowerCase()),
    )
    if (key !== undefined) {
      throw new MigrationError(
        `the tables of ${module} cannot be dropped: "${key.child}" refers to "${key.parent}". Purge its module first`,
      )
    }
    const shadows: { name: string }[] = yield shadowTables
    const droppable = objects.filter(
      ({ name }) => !name.startsWith('sqlite_') && !shadows.some((shadow) => shadow.name === name),
    )
    const tables = droppable.filter(({ type }) => type === 'table')
    for (const { type, name } of droppable) {
      // Dropped before the tables that they use; a trigger may be gone with its view.
      if (type === 'view' || type === 'trigger') yield `DROP ${type} IF EXISTS ${quoted(name)}`
    }
    for (const { name } of tables) yield `DROP TABLE ${quoted(name)}`
    return tables.map(({ name }) => name)
  },
}
