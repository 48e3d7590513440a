import { type Query, queryOn, readLedger } from './change-schema.ts'
import { isOwnRelation } from './own-relations.ts'
import { withConnection } from './with-connection.ts'

/** Null without a ledger. */
export async function readPrefixes(query: Query): Promise<string[] | null> {
  const ledger = await readLedger(query)
  if (ledger.length === 0) return null
  return [...new Set(ledger.map(({ tables }) => tables))]
}

/** A table or view that is not the application's: in its schema, or on its tables. */
export interface ForeignObject {
  readonly type: 'table' | 'view'
  /** With its schema, if that is another one. */
  readonly name: string
  readonly owner: string
  readonly isInSchema: boolean
  /** The tables of the application that it needs: they cannot be dropped before it. */
  readonly needs: readonly string[]
}

const FOREIGN = `
WITH relation AS (
  SELECT c.oid, c.relname::text AS name, c.relkind, c.relowner, n.nspname::text AS schema,
    ${isOwnRelation('$1')} AS own
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
),
need AS (
  SELECT conrelid AS oid, confrelid AS needed FROM pg_constraint WHERE contype = 'f'
  UNION
  SELECT r.ev_class, d.refobjid FROM pg_rewrite AS r
  JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
)
SELECT * FROM (
  SELECT CASE WHEN relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS type, schema, name,
    pg_get_userbyid(relowner)::text AS owner, schema = current_schema() AS inside,
    (SELECT coalesce(json_agg(DISTINCT own.name), '[]')::text FROM need JOIN relation AS own ON own.oid = need.needed
      WHERE need.oid = relation.oid AND own.own) AS needs
  FROM relation WHERE NOT own
) AS found WHERE inside OR needs <> '[]' ORDER BY schema, name`

/** @throws {StorageUnreachableError} */
export async function readForeignObjects(url: string): Promise<ForeignObject[]> {
  return await withConnection(url, async (client) => {
    const query = queryOn(client)
    const prefixes = await readPrefixes(query)
    if (prefixes === null) return []
    const { rows } = await query(FOREIGN, [prefixes])
    return rows.map(({ type, schema, name, owner, inside, needs }) => ({
      ...{ type, owner, needs: JSON.parse(needs) },
      name: inside === 1 ? name : `${schema}.${name}`,
      isInSchema: inside === 1,
    }))
  })
}
