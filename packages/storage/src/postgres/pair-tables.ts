import type SqliteDatabase from 'better-sqlite3'
import { columnNames, extraTableOf, hasRows, storeExtraTable, tableNames } from '../archive/portable-file.ts'
import type { PortableTable } from '../archive/portable-table.ts'
import { MigrationError } from '../port/errors.ts'
import type { Pair } from './copy-rows.ts'

/**
 * Assigns each of these tables its source in a SQLite file. Tables that only PostgreSQL has, and
 * the file does not know, stay as their migrations have made them.
 *
 * @param isMeant selects tables of the file
 * @throws {MigrationError} if the file has rows without a place
 */
export function pairTables(
  source: SqliteDatabase.Database,
  tables: readonly PortableTable[],
  isMeant: (name: string) => boolean,
): Pair[] {
  const names = tableNames(source).filter(
    (name) =>
      name !== 'mortise_migration' && isMeant(storeExtraTable(name) ?? name) && !/^postgres\/\w+$/.test(name),
  )
  const pairs = tables.flatMap((table): Pair[] => {
    const from = [extraTableOf(table.name), table.name].find((name) => names.includes(name))
    if (from === undefined || table.columns.length === 0) return []
    const columns = new Set(columnNames(source, from))
    const other = table.columns.find(({ name }) => !columns.delete(name))?.name ?? [...columns][0]
    if (other === undefined) return [{ table, from }]
    if (!hasRows(source, from)) return []
    throw new MigrationError(
      `the table "${table.name}" differs between the engines: only one has the column "${other}", so its rows cannot be copied`,
    )
  })
  const carried = new Set(pairs.map(({ from }) => from))
  const left = names.find((name) => {
    const isEmptied = storeExtraTable(name) === undefined && carried.has(extraTableOf(name))
    return !carried.has(name) && !isEmptied && hasRows(source, name)
  })
  if (left === undefined) return pairs
  throw new MigrationError(
    `the table "${storeExtraTable(left) ?? left}" has rows, and PostgreSQL has no such table`,
  )
}
