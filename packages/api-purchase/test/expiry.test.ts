import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { createPurchase } from '../src/service.ts'
import { purchaseHost } from './purchase-host.ts'

const MINUTE = 60_000
const ann = { id: 'user:ann', kind: 'user', has: () => false } as const

/** A host with 250 purchases made 61 minutes ago and a new one, and a clock that the test sets. */
async function hostWithPurchases(t: Test, expirePendingAfterMinutes: number) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const config = { modules: { 'api-purchase': { expirePendingAfterMinutes } } }
  const { app, database } = await purchaseHost(t, { config, rehearse: false })
  const purchase = (age: number) =>
    database.transaction(() =>
      createPurchase(ann, { items: [{ product: 'tea', quantity: 1 }] }, {}, Date.now() - age),
    )
  await Promise.all(Array.from({ length: 250 }, () => purchase(61 * MINUTE)))
  await purchase(0)
  return {
    database,
    /** Their current state. */
    outcome: () =>
      database.many<{ count: number }>(
        sql`SELECT status, count(*) AS count FROM purchase GROUP BY status ORDER BY status`,
      ),
    recorded: () =>
      database.many(sql`
        SELECT actor, action, request_id, count(DISTINCT object) AS count FROM mortise_audit
        GROUP BY actor, action, request_id`),
    /** Waits for a run in progress. */
    close: () => app.close(),
  }
}

t.test('pending purchases expire within a minute after the configured time', async (t) => {
  const host = await hostWithPurchases(t, 60)
  mock.timers.tick(MINUTE)
  while ((await host.outcome())[0]?.count !== 250) await setImmediate()
  t.same(await host.outcome(), [
    { status: 'expired', count: 250 },
    { status: 'pending', count: 1 },
  ])
  t.same(await host.recorded(), [
    { actor: 'module:api-purchase', action: 'purchase.expired', request_id: null, count: 250 },
  ])
})

for (const minutes of [0, 62]) {
  t.test(`pending purchases do not expire with ${minutes} minutes configured`, async (t) => {
    const host = await hostWithPurchases(t, minutes)
    mock.timers.tick(MINUTE)
    await host.close()
    t.same(await host.outcome(), [{ status: 'pending', count: 251 }])
  })
}
