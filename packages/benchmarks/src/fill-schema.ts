import { Client } from 'pg'

/**
 * Other callers' rows. PostgreSQL scans empty tables completely, so all transactions would
 * conflict.
 */
const OTHERS = `
  INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day)
    SELECT 'guest_' || n, md5(n::text), 0, 9e12, 104166 FROM generate_series(1, 20000) AS n;
  INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
    SELECT 'cart_' || n, 'user:other:' || n, 1, 0, 0, 9e12, 104166 FROM generate_series(1, 20000) AS n;
  INSERT INTO cart_item (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
    SELECT 'item_' || n || '_' || m, 'cart_' || n, m, 'tea-' || m, 1, 1, 0, 0
    FROM generate_series(1, 20000) AS n, generate_series(1, 3) AS m;
  ANALYZE mortise_guest, cart, cart_item`

/** Inserts 20,000 guests and carts into a schema, and updates the server's statistics. */
export async function fillSchema(url: string, schema: string): Promise<void> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    await client.query(OTHERS)
  } finally {
    await client.end()
  }
}

export async function dropSchemas(url: string, schemas: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await client.end()
}

/** Gives `use` a function that returns the bytes in the server's log so far; without a server, 0. */
export async function withWal<Result>(
  url: string | undefined,
  use: (wal: () => Promise<number>) => Promise<Result>,
): Promise<Result> {
  if (url === undefined) return use(async () => 0)
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await use(async () => {
      const { rows } = await client.query(`SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`)
      return rows[0].bytes
    })
  } finally {
    await client.end()
  }
}
