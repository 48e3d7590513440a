import SqliteDatabase from 'better-sqlite3'

/** Rows that are quicker to write by SQL than by requests. The application is stopped. */
function fill(file: string, work: (database: SqliteDatabase.Database) => void): void {
  const database = new SqliteDatabase(file)
  try {
    database.pragma('synchronous = OFF')
    database.exec('BEGIN')
    work(database)
    database.exec('COMMIT')
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

const numbers = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @count)'

/**
 * Writes purchases with two items each: statuses in turn, one in fifty deleted.
 * @param owner the beginning of a caller id, before the number of the user
 * @param users the number of users
 */
export function fillPurchases(file: string, purchases: number, owner: string, users: number): void {
  fill(file, (database) => {
    database
      .prepare(`${numbers}
        INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at, deleted_at)
        SELECT i, 'purchase_' || lower(hex(randomblob(13))), @owner || (i % @users),
          CASE i % 5 WHEN 0 THEN 'pending' WHEN 1 THEN 'confirmed' WHEN 2 THEN 'completed' WHEN 3 THEN 'cancelled' ELSE 'expired' END,
          2, 2 + i % 9, 1, 1700000000000 + i, 1700000000000 + i, CASE WHEN i % 50 = 3 THEN 1790000000000 END
        FROM n`)
      .run({ count: BigInt(purchases), owner, users: BigInt(users) })
    database.exec(`
      INSERT INTO purchase_item (purchase_seq, position, id, product, quantity, taken)
      SELECT seq, position, 'item_' || lower(hex(randomblob(13))), 'espresso-beans-' || (seq % 100) || 'kg',
        CASE position WHEN 0 THEN 1 ELSE total_quantity - 1 END, 0
      FROM purchase, (SELECT 0 AS position UNION ALL SELECT 1)`)
  })
}

/**
 * Writes events of one owner, and as many rows of the module `pile`.
 * @param owner a caller id
 */
export function fillEvents(file: string, rows: number, owner: string): void {
  fill(file, (database) => {
    database
      .prepare(`${numbers}
        INSERT INTO mortise_event (position, id, type, source, subject, owner, at, data)
        SELECT i, 'event_' || printf('%026d', i), CASE i % 4 WHEN 0 THEN 'purchase.status-changed' ELSE 'purchase.created' END,
          'api-purchase', 'purchase_' || printf('%026d', i % 1000), @owner, 1700000000000 + i,
          '{"note":"' || hex(randomblob(60)) || '"}'
        FROM n`)
      .run({ count: BigInt(rows), owner })
    database.exec(`
      INSERT INTO pile (id, kind, note)
      SELECT position, 'kind-' || (position % 10), hex(randomblob(30)) FROM mortise_event`)
  })
}
