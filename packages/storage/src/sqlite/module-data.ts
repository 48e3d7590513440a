import type { SchemaObject } from '../migrations/foreign-change.ts'
import { quoted } from '../port/quoted.ts'
import type { Connection } from './connection.ts'

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
