import { type ListQuery, many, run, Sql, type Statement, sql, type Transaction } from '@mortise/module-sdk'
import type { TestEngine, TestHost } from '@mortise/module-testkit'
import { EVERYONE, listPurchases } from '../src/repository.ts'
import { fillPurchases } from './fill-purchases.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

/** 40,000 purchases of 2,000 owners, the older half completed. */
async function fill({ database }: TestHost, engine: TestEngine): Promise<void> {
  await database.transaction(() =>
    fillPurchases({
      last: 0,
      count: 40_000,
      id: sql`'purchase_' || n`,
      owner: sql`'user:' || (n % 2000)`,
      status: sql`CASE WHEN n < 20000 THEN 'completed' ELSE 'pending' END`,
    }),
  )
  // As autovacuum does. SQLite has no such thing.
  if (engine === 'postgres') await database.transaction(() => run(sql`ANALYZE`))
}

/** The query plan of each statement of `steps`. */
function plansOf({ database }: TestHost, engine: TestEngine, steps: () => Transaction<unknown>) {
  return database.transaction(function* () {
    const plans: string[] = []
    const running = steps()
    let next = running.next()
    while (!next.done) {
      const { query } = next.value as Statement
      const { strings, values } = (engine === 'postgres' && query.postgres) || query
      const explain = { sqlite: 'EXPLAIN QUERY PLAN', postgres: 'EXPLAIN (ANALYZE)' }[engine]
      const explained = new Sql([`${explain} ${strings[0]}`, ...strings.slice(1)], values)
      const rows = yield* many<Record<string, string>>(explained)
      plans.push(...rows.map((row) => row.detail ?? (row['QUERY PLAN'] as string)))
      next = running.next(yield* many<object>(query))
    }
    return plans
  })
}

/** How many rows a step of PostgreSQL has read: those it passed on, and those that a filter dropped. */
const rowsRead = (step: string) =>
  Number(/actual .*rows=(\d+)/.exec(step)?.[1] ?? /Rows Removed by Filter: (\d+)/.exec(step)?.[1] ?? 0)

testOnEngines("a caller's list reads only their own rows", async (t, engine) => {
  const host = await purchaseHost(t, { rehearse: false })
  await fill(host, engine)
  const statuses = ['completed'] as const
  // A total is exact up to 10,000.
  for (const [owner, others, most] of [
    ['user:7', /SCAN purchase\b|purchase_in_status/, 200],
    [EVERYONE, /SCAN purchase\b/, 10_001],
  ] as const) {
    const list = (query: ListQuery) => listPurchases(query, { owner, statuses, reader: owner }, (row) => row)
    const plans = [
      ...(await plansOf(host, engine, () => list({ page: 1, rpp: 20 }))),
      ...(await plansOf(host, engine, () => list({ page: 1, rpp: 20, after: 'purchase_18007' }))),
    ]
    t.ok(plans.length > 0)
    const long = plans.filter((step) => (engine === 'sqlite' ? others.test(step) : rowsRead(step) > most))
    t.same(long, [], owner)
  }
})
