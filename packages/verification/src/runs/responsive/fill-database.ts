import SqliteDatabase from 'better-sqlite3'

/**
 * Writes events, purchases and rows of the module `pile` into the database of a stopped application.
 * All belong to one owner.
 * @param owner a caller id
 */
export function fillDatabase(file: string, rows: number, owner: string): void {
  const database = new SqliteDatabase(file)
  try {
    database.pragma('synchronous = OFF')
    database.exec('BEGIN')
    const count = BigInt(rows)
    database
      .prepare(`
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO mortise_event (position, id, type, source, subject, owner, at, data)
        SELECT i, 'event_' || printf('%026d', i), CASE i % 4 WHEN 0 THEN 'purchase.status-changed' ELSE 'purchase.created' END,
          'api-purchase', 'purchase_' || printf('%026d', i % 1000), ?, 1700000000000 + i,
          '{"note":"' || hex(randomblob(60)) || '"}'
        FROM n`)
      .run(count, owner)
    database
      .prepare(`
        WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < ?)
        INSERT INTO purchase (seq, id, owner, status, item_count, total_quantity, version, created_at, updated_at)
        SELECT seq, 'purchase_' || printf('%026d', seq), ?, CASE seq % 2 WHEN 0 THEN 'pending' ELSE 'completed' END,
          1, 1, 1, 1700000000000 + seq, 1700000000000 + seq
        FROM n`)
      .run(count, owner)
    database.exec(`
      INSERT INTO purchase_item (purchase_seq, position, id, product, quantity)
      SELECT seq, 0, 'item_' || printf('%026d', seq), 'tea', 1 FROM purchase;
      INSERT INTO pile (id, kind, note) SELECT seq, 'kind-' || (seq % 10), hex(randomblob(30)) FROM purchase`)
    database.exec('COMMIT')
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}
