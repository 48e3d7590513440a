import SqliteDatabase from 'better-sqlite3'

/**
 * Writes purchases with two items each into the database of a stopped
 * application: one user per thousand purchases, statuses in turn, one in fifty deleted.
 */
export function fillPurchases(file: string, count: number, issuer: string): void {
  const database = new SqliteDatabase(file)
  try {
    database.pragma('synchronous = OFF')
    const owner = `user:${encodeURIComponent(issuer)}:user-`
    database.exec('BEGIN')
    database
      .prepare(`
        WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ?)
        INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at, deleted_at)
        SELECT seq, 'purchase_' || lower(hex(randomblob(13))), ? || (seq % (? / 1000 + 1)),
          CASE seq % 5 WHEN 0 THEN 'pending' WHEN 1 THEN 'confirmed' WHEN 2 THEN 'completed' WHEN 3 THEN 'cancelled' ELSE 'expired' END,
          2, 2 + seq % 9, 1, 1700000000000 + seq, 1700000000000 + seq, CASE WHEN seq % 50 = 3 THEN 1790000000000 END
        FROM n`)
      .run(BigInt(count), owner, BigInt(count))
    database.exec(`
      INSERT INTO purchase_item (purchase_seq, position, id, product, quantity)
      SELECT seq, position, 'item_' || lower(hex(randomblob(13))), 'espresso-beans-' || (seq % 100) || 'kg',
        CASE position WHEN 0 THEN 1 ELSE total_quantity - 1 END
      FROM purchase, (SELECT 0 AS position UNION ALL SELECT 1)`)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}
