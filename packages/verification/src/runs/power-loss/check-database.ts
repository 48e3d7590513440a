import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Tree } from './disk.ts'

/** The faults of a database, by kind. */
export interface DatabaseFindings {
  readonly lost: number
  readonly doubled: number
  readonly half: number
  readonly damage: string | undefined
}

/** Opens the database after the loss. @param acknowledged the ids of purchases */
export async function checkDatabase(
  tree: Tree,
  acknowledged: readonly string[],
  scratch: string,
): Promise<DatabaseFindings> {
  const folder = await mkdtemp(join(scratch, 'left-'))
  try {
    const file = join(folder, 'app.db')
    for (const suffix of ['', '-wal', '-journal']) {
      const content = tree.get(`data/app.db${suffix}`)
      if (Buffer.isBuffer(content)) await writeFile(file + suffix, content)
    }
    return look(file, acknowledged)
  } catch (error) {
    return { lost: acknowledged.length, doubled: 0, half: 0, damage: (error as Error).message }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function look(file: string, acknowledged: readonly string[]): DatabaseFindings {
  const database = new Database(file)
  try {
    database.pragma('synchronous = OFF')
    const damage = String(database.pragma('integrity_check(1)', { simple: true }))
    const all = (text: string) => database.prepare(text).pluck().all() as string[]
    const isThere = all(`SELECT name FROM sqlite_schema WHERE name = 'purchase'`).length === 1
    const ids = new Set(isThere ? all('SELECT id FROM purchase') : [])
    return {
      lost: acknowledged.filter((id) => !ids.has(id)).length,
      doubled: isThere ? all(doubled).length : 0,
      half: isThere ? all(half).length : 0,
      damage: damage === 'ok' ? undefined : damage,
    }
  } finally {
    database.close()
  }
}

/** Buyers use each product once. */
const doubled = 'SELECT product FROM purchase_item GROUP BY product HAVING count(*) > 1'

/** A purchase has its items, its event and its idempotency record, and none of these exists alone. */
const half = `
  SELECT id FROM purchase
    WHERE item_count <> (SELECT count(*) FROM purchase_item WHERE purchase_seq = purchase.seq)
      OR 1 <> (SELECT count(*) FROM (
        SELECT subject FROM mortise_event UNION ALL SELECT subject FROM mortise_event_new) WHERE subject = purchase.id)
  UNION ALL
  SELECT id FROM purchase_item WHERE NOT EXISTS (SELECT 1 FROM purchase WHERE seq = purchase_seq)
  UNION ALL
  SELECT 'records' WHERE (SELECT count(*) FROM purchase) <> (SELECT count(*) FROM mortise_idempotency)`
