import type { PortableTable } from '../archive/portable-table.ts'
import { quoted } from '../port/quoted.ts'
import type { Query } from './change-schema.ts'
import { readPrefixes } from './foreign-objects.ts'
import { isOwnRelation } from './own-relations.ts'

const TABLES = `
SELECT c.relname AS name,
  (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, NULL),
      'cast', (SELECT format('%I.%I', nspname, typname) FROM pg_type AS t JOIN pg_namespace AS own ON own.oid = typnamespace
        WHERE t.oid = a.atttypid),
      'sequence', pg_get_serial_sequence(quote_ident(c.relname), a.attname)) ORDER BY a.attnum)
    FROM pg_attribute AS a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
  (SELECT json_agg(a.attname ORDER BY key.position)
    FROM pg_index AS i, unnest(i.indkey::int2[]) WITH ORDINALITY AS key (attnum, position), pg_attribute AS a
    WHERE i.indrelid = c.oid AND i.indisprimary AND a.attrelid = c.oid AND a.attnum = key.attnum) AS key
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'mortise_migration'
  AND ${isOwnRelation('$1')}
ORDER BY c.relname`

/** The application's tables in the schema of the session, by name, without the ledger. */
export async function readTables(query: Query): Promise<PortableTable[]> {
  const { rows } = await query(TABLES, [await readPrefixes(query)])
  return rows.map(({ name, columns, key }): PortableTable => {
    const all: PortableTable['columns'] = JSON.parse(columns ?? '[]')
    return { name, columns: all, key: key === null ? all.map((column) => column.name) : JSON.parse(key) }
  })
}

/** They would depend on the order of rows, or act on them. Returns how to restore them. */
export async function loosen(query: Query, tables: readonly PortableTable[]): Promise<string> {
  const names = [tables.map(({ name }) => name)]
  const { rows: keys } = await query(
    `SELECT c.relname AS table, conname AS name, pg_get_constraintdef(k.oid) AS definition
     FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = conrelid
     WHERE contype = 'f' AND c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relname = ANY ($1)`,
    names,
  )
  const { rows: triggered } = await query(
    `SELECT DISTINCT c.relname AS table FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid
     WHERE NOT tgisinternal AND c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relname = ANY ($1)`,
    names,
  )
  const alter = (table: string, what: string) => `ALTER TABLE ${quoted(table)} ${what};`
  const away = [
    ...keys.map(({ table, name }) => alter(table, `DROP CONSTRAINT ${quoted(name)}`)),
    ...triggered.map(({ table }) => alter(table, 'DISABLE TRIGGER USER')),
  ]
  const back = [
    ...keys.map(({ table, name, definition }) =>
      alter(table, `ADD CONSTRAINT ${quoted(name)} ${definition}`),
    ),
    ...triggered.map(({ table }) => alter(table, 'ENABLE TRIGGER USER')),
  ]
  if (away.length > 0) await query(away.join('\n'))
  return back.join('\n')
}

/** Sets each counter beyond every number of its column, and beyond its source's counter. */
export async function advanceCounters(
  query: Query,
  tables: readonly PortableTable[],
  counted: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { name, columns } of tables) {
    for (const column of columns) {
      if (column.sequence === null) continue
      await query(
        `SELECT setval($1::regclass, greatest($2::bigint, (SELECT max(${quoted(column.name)}) FROM ${quoted(name)}), 0) + 1, false)`,
        [column.sequence, counted.get(name) ?? '0'],
      )
    }
  }
}

/** The counter of each table. */
export async function readCounted(
  query: Query,
  tables: readonly PortableTable[],
): Promise<Map<string, string>> {
  const counted = new Map<string, string>()
  for (const { name, columns } of tables) {
    const sequence = columns.find((column) => column.sequence !== null)?.sequence
    if (sequence === undefined) continue
    const { rows } = await query('SELECT pg_sequence_last_value($1::regclass)::text AS last', [sequence])
    if (rows[0].last !== null) counted.set(name, rows[0].last)
  }
  return counted
}
