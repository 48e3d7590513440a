import { DAY, expiryDay, type SqlValue, type Statement, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import { fillPurchases } from '../../api-purchase/test/fill-purchases.ts'

export interface FilledDay {
  /** The database of a stopped application. */
  readonly file: string
  /** Purchases, and as many events. */
  readonly rows: number
  /** Rows of each kind that are due for a job. */
  readonly due: number
}

/** The numbers from 1 to `count` as the column `i` of the table `n`, for the statement that follows. */
export const upTo = (count: number) =>
  `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`

/** Fills a database that has the host's tables, and those of our modules. All is of other callers. */
export function fillDay({ file, rows, due }: FilledDay): void {
  const database = new SqliteDatabase(file)
  const now = Date.now()
  const long = now - 400 * DAY
  const old = Number(expiryDay(long))
  // The first rows are due, the others are fresh.
  const age = `CASE WHEN i <= ${due} THEN ${long} + i ELSE ${now} + i / 1000 END`
  const id = (kind: string, number = 'i') => `'${kind}_' || printf('%026d', ${number})`
  const random = `hex(randomblob(16))`
  try {
    database.pragma('synchronous = OFF')
    database.pragma('cache_size = -200000')
    database.exec(`BEGIN;
      ${upTo(rows)} INSERT INTO mortise_event (position, id, type, source, subject, owner, at, data)
        SELECT i, ${id('event')}, 'purchase.created', 'api-purchase', ${id('purchase')},
          'user:other:' || (i * 7919 % 10007), ${age}, '{"note":"' || hex(randomblob(150)) || '"}' FROM n;`)
    const purchases = fillPurchases({
      last: 0,
      count: rows,
      id: sql`'purchase_' || printf('%026d', n)`,
      owner: sql`'user:other:' || (n * 7919 % 10007)`,
      status: sql`CASE WHEN n <= ${due} OR n % 10 = 0 THEN 'pending' ELSE 'completed' END`,
      at: sql`CASE WHEN n <= ${due} THEN ${long} + n ELSE ${now} + n / 1000 END`,
    })
    for (const step of purchases) {
      const { strings, values } = (step as Statement).query
      const statement = database.prepare(strings.join('?'))
      statement[statement.reader ? 'all' : 'run'](values.map(toInteger))
    }
    database.exec(`
      ${upTo(2 * due)} INSERT INTO mortise_guest (id, token_hash, created_at, expires_at, expiry_day)
        SELECT ${id('guest')}, ${random}, 0, ${age}, ${old} FROM n;
      ${upTo(2 * due)} INSERT INTO cart (id, owner, version, created_at, updated_at, expires_at, expiry_day)
        SELECT ${random}, 'guest:' || i, 20, 0, 0, ${age}, ${old} FROM n;
      ${upTo(20)} INSERT INTO cart_item
        (id, cart_id, since_version, product, quantity, version, created_at, updated_at)
        SELECT ${random}, cart.id, i, 'tea ' || i, 1, 1, 0, 0 FROM cart, n;
      ${upTo(2 * due)} INSERT INTO mortise_idempotency
        (caller, idempotency_key, route, fingerprint, status, headers, body, created_at)
        SELECT 'user:other:' || i, ${random}, 'POST /cart/item', ${random}, 201, '{}', hex(randomblob(150)), ${age}
        FROM n;
      INSERT INTO webhook
        (id, owner, everyone, url, types, description, secrets, enabled, version, created_at, updated_at, deleted_at)
        VALUES ('one', 'user:other:1', 0, 'https://example.org', '["*"]', '', '[]', 0, 1, 0, 0, NULL),
          ('deleted', 'user:other:1', 0, 'https://example.org', '["*"]', '', '[]', 0, 1, 0, 0, 0);
      ${upTo(2 * due)} INSERT INTO webhook_delivery
        (webhook, id, type, subject, position, of_others, state, attempts, created_at, ended_at)
        SELECT CASE WHEN i % 3 = 0 THEN 'deleted' ELSE 'one' END, ${id('event')}, 'purchase.created',
          ${id('purchase')}, i, 0, 'delivered', 1, ${age}, ${age} FROM n;
      COMMIT`)
  } finally {
    database.pragma('wal_checkpoint(TRUNCATE)')
    database.close()
  }
}

/** The driver binds a number as REAL. */
const toInteger = (value: SqlValue) => (typeof value === 'number' ? BigInt(value) : value)

/** Whether a job still has to change or delete rows. */
export function isDue({ file, due }: FilledDay): boolean {
  const database = new SqliteDatabase(file, { readonly: true })
  const before = Date.now() - 300 * DAY
  try {
    return [
      `mortise_event WHERE position <= ${due}`,
      `purchase WHERE seq <= ${due} AND status = 'pending'`,
      `mortise_guest WHERE expires_at < ${before}`,
      `cart WHERE expires_at < ${before}`,
      `mortise_idempotency WHERE created_at < ${before}`,
      `webhook_delivery WHERE ended_at < ${before} OR webhook = 'deleted'`,
    ].some((rows) => database.prepare(`SELECT 1 FROM ${rows} LIMIT 1`).get() !== undefined)
  } finally {
    database.close()
  }
}
