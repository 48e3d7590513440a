import { type LedgerEntry, MigrationError } from '../storage.ts'
import type { Connection } from './connection.ts'
import { isOwn, type SchemaObject } from './foreign-change.ts'

/**
 * The prefixes under which `module` has made its tables.
 * @throws {MigrationError} where they are not known, or not its alone
 */
export function prefixesOf(ledger: readonly LedgerEntry[], module: string): string[] {
  const prefixes = new Set<string>()
  for (const entry of ledger) {
    if (entry.module !== module) continue
    if (entry.tables === null) {
      throw new MigrationError(
        `which tables are those of ${module} is not known: an older host applied ${entry.name}. ` +
          'Start this host once with the module installed, then try again',
      )
    }
    prefixes.add(entry.tables)
  }
  if ([...prefixes].some((prefix) => isOwn(prefix, 'mortise_migration'))) {
    throw new MigrationError(`the tables of ${module} are those of the host, which stay`)
  }
  for (const { module: other, tables } of ledger) {
    if (other === module || tables === null) continue
    for (const prefix of prefixes) {
      if (!isOwn(prefix, tables) && !isOwn(tables, prefix)) continue
      throw new MigrationError(
        `the tables of ${module} ("${prefix}") cannot be told from those of ${other} ("${tables}")`,
      )
    }
  }
  return [...prefixes]
}

export const isOwnObject = (prefixes: readonly string[]) => (object: SchemaObject) =>
  prefixes.some((prefix) => isOwn(prefix, object.name))

/** The tables behind virtual ones: SQLite makes and drops them with these. */
export function shadowTables(connection: Connection): Set<string> {
  const shadows = connection.database
    .prepare(`SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'`)
    .pluck()
    .all() as string[]
  return new Set(shadows)
}

/** Drops them with all that hangs on them. @returns the tables among them */
export function dropObjects(connection: Connection, objects: readonly SchemaObject[]): string[] {
  const shadows = shadowTables(connection)
  const droppable = objects.filter(({ name }) => !name.startsWith('sqlite_') && !shadows.has(name))
  const tables = droppable.filter(({ type }) => type === 'table')
  for (const { type, name } of droppable) {
    // Before the tables that they name; a trigger may be gone with its view.
    if (type === 'view' || type === 'trigger') {
      connection.database.exec(`DROP ${type} IF EXISTS ${quoted(name)}`)
    }
  }
  for (const { name } of tables) connection.database.exec(`DROP TABLE ${quoted(name)}`)
  return tables.map(({ name }) => name)
}

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
