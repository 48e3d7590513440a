import { join } from 'node:path'
import { databaseAddress, readConfig } from '@mortise/application'
import { callApplication, openStorage } from '@mortise/host'
import { sql } from '@mortise/module-sdk'
import {
  type AppliedMigration,
  MigrationError,
  postgresData,
  readContents,
  type Storage,
} from '@mortise/storage'
import { notUndoable } from '../../failures/index.ts'

/** Data that undoing migrations drops. */
export interface Drop {
  readonly table: string
  /** Null if the whole table is dropped. */
  readonly column: string | null
  /** The number of rows in the table now. */
  readonly rows: number
}

export interface RollbackPlan {
  /** For people: `~ api-cart 1.1.0 → 1.0.0`. */
  readonly changes: readonly string[]
  /** The migrations to undo: `api-cart/002-note`. */
  readonly undo: readonly string[]
  readonly drops: readonly Drop[]
}

/**
 * Finds what undoing migrations drops, by undoing them on an empty database with the application's
 * schema. On PostgreSQL it also tries that on the database itself.
 * @param folder the folder for that database; the caller removes it
 * @throws {Failure} if they cannot be undone (4)
 */
export async function planUndo(
  directory: string,
  migrations: readonly AppliedMigration[],
  folder: string,
): Promise<Drop[]> {
  if (migrations.length === 0) return []
  const schema = await callApplication(directory, 'schema')
  const storage = await openStorage({ file: join(folder, 'rehearsal.db'), durable: false, schema })
  try {
    const before = await readColumns(storage)
    await storage.undo(migrations)
    const after = await readColumns(storage)
    const place = databaseAddress(await readConfig(directory))
    if ('url' in place) await (await postgresData()).tryUndo(place.url, migrations)
    const { rows } = await readContents(place)
    return [...before].flatMap(([table, columns]): Drop[] => {
      const left = after.get(table)
      const gone = left ? columns.filter((column) => !left.includes(column)) : [null]
      return gone.map((column) => ({ table, column, rows: Number(rows[table] ?? 0) }))
    })
  } catch (error) {
    if (error instanceof MigrationError) throw notUndoable({ reason: error.message, cause: error })
    throw error
  } finally {
    await storage.close()
  }
}

/** For people: `note.colour (5 rows)`. */
export function dropText({ table, column, rows }: Drop): string {
  const what = column === null ? `the table ${table}` : `the column ${table}.${column}`
  return `${what} (${rows} ${rows === 1 ? 'row' : 'rows'})`
}

/** The columns of each table, by table name. */
async function readColumns(storage: Storage): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await storage.many<{ table: string; column: string }>(sql`
    SELECT entry.name AS "table", info.name AS "column"
    FROM sqlite_schema AS entry, pragma_table_xinfo(entry.name) AS info
    WHERE entry.type = 'table' AND entry.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 1, info.cid`)
  const tables = Map.groupBy(found, ({ table }) => table)
  return new Map([...tables].map(([table, rows]) => [table, rows.map(({ column }) => column)]))
}
