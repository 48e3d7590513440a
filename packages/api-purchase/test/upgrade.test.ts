import { fileURLToPath } from 'node:url'
import { moduleMigrations, readPackage } from '@mortise/host'
import { byEngine, run, sql } from '@mortise/module-sdk'
import type { TestHost } from '@mortise/module-testkit'
import { fillPurchases } from './fill-purchases.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const COUNT = 10_000
/** What came with and after it. */
const plainLists = ['005-plain-lists', '006-note', '007-prices', '008-adjustments', '009-identity'].map(
  (name) => ({
    module: 'api-purchase',
    name,
  }),
)

const fill = ({ database }: TestHost) =>
  database.transaction(() =>
    fillPurchases({
      last: 0,
      count: COUNT,
      id: sql`'purchase_' || n`,
      owner: sql`'user:' || (n % 3)`,
      status: sql`CASE WHEN n % 5 = 0 THEN 'cancelled' ELSE 'pending' END`,
    }),
  )

testOnEngines('a rollback gives the previous version the counts of all purchases', async (t) => {
  const host = await purchaseHost(t, { rehearse: false })
  const { database } = host
  await fill(host)
  await database.transaction(() => run(sql`UPDATE purchase SET deleted_at = 1 WHERE seq % 50 = 0`))
  await database.undo(plainLists.toReversed())
  for (const level of [1, 2, 3]) {
    const width = 64 ** level
    const counts = await database.many(
      sql`SELECT block, list, count FROM purchase_rank WHERE level = ${level} ORDER BY block, list`,
    )
    const counted = await database.many(sql`
      SELECT seq / ${width} AS block, status AS list, count(*) AS count FROM purchase
      WHERE deleted_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2`)
    t.ok(counts.length > 0)
    t.strictSame(counts, counted, `level ${level}`)
  }
  await database.transaction(() => run(sql`INSERT INTO purchase_group (name) VALUES ('user:1')`))
  await database.transaction(() => run(sql`UPDATE purchase SET status = 'expired' WHERE seq = 1`))
  t.strictSame(
    await database.many(sql`SELECT position, list, count FROM purchase_group_change ORDER BY count`),
    [
      { position: 1, list: 'pending', count: -1 },
      { position: 1, list: 'expired', count: 1 },
    ],
    'its triggers note the changes of a large owner',
  )
})

testOnEngines('the previous version writes until the switch is over', async (t) => {
  const host = await purchaseHost(t, { rehearse: false })
  const { database } = host
  await database.undo(plainLists.toReversed())
  await fill(host)
  await database.transaction(() => run(sql`INSERT INTO purchase_group (name) VALUES ('user:1')`))
  const directory = fileURLToPath(new URL('..', import.meta.url))
  t.strictSame(await database.migrate(moduleMigrations([await readPackage(directory)])), plainLists)
  const counting = byEngine({
    sqlite: sql`
      INSERT INTO purchase_rank (level, block, list, count)
      VALUES (1, ${Math.floor((COUNT + 1) / 64)}, 'pending', 1)
      ON CONFLICT (level, block, list) DO UPDATE SET count = purchase_rank.count + 1`,
    postgres: sql`
      INSERT INTO purchase_rank_change (level, block, list, count)
      VALUES (1, ${Math.floor((COUNT + 1) / 64)}, 'pending', 1)`,
  })
  const counted = sql`SELECT sum(count) AS counted FROM purchase_rank`
  const before = await database.one<{ counted: number | null }>(counted)
  t.equal(await database.transaction(() => run(counting)), 1)
  const after = await database.one<{ counted: number }>(counted)
  t.equal(Number(after.counted), Number(before.counted) + 1, 'it reads what it writes')
  t.strictSame(
    await database.many(sql`SELECT name FROM purchase_group`),
    [],
    'it counts the rows of an owner',
  )
  const bought = await host.user('ann').post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
  t.equal(bought.statusCode, 201)
  t.strictSame(await database.many(sql`SELECT position FROM purchase_group_change`), [])
  const { total } = (await host.user('clerk', 'purchase:read').get('/purchase?owner=user:1')).json()
  t.equal(total, 3334)
})
