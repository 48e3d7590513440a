import { sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

/** A host, its purchases and its audit trail. */
async function auditedHost(t: Test) {
  const host = await purchaseHost(t)
  return {
    ...host,
    ann: host.user('ann'),
    manager: host.user('manager', 'purchase:manage'),
    async purchase() {
      const created = await host.user('ann').post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
      return created.json().id as string
    },
    async recorded() {
      const rows = await host.database.many<{ details: string }>(sql`
        SELECT actor, action, object, outcome, request_id AS "requestId", details FROM mortise_audit ORDER BY seq`)
      return rows.map(({ details, ...row }) => ({ ...row, details: JSON.parse(details) }))
    },
  }
}

testOnEngines('the audit trail has each status and the deletion: who, what, for which request', async (t) => {
  const host = await auditedHost(t)
  const id = await host.purchase()
  t.same(await host.recorded(), [], 'a creation is no change')
  await host.manager.patch(`/purchase/${id}`, { status: 'confirmed' }, { 'request-id': 'first' })
  await host.ann.patch(`/purchase/${id}`, { status: 'cancelled' }, { 'request-id': 'second' })
  await host.ann.delete(`/purchase/${id}`, { 'request-id': 'third' })
  const common = { object: id, outcome: 'done' }
  t.same(await host.recorded(), [
    {
      ...common,
      actor: 'user:mortise-testkit:manager',
      action: 'purchase.confirmed',
      requestId: 'first',
      details: { from: 'pending' },
    },
    {
      ...common,
      actor: 'user:mortise-testkit:ann',
      action: 'purchase.cancelled',
      requestId: 'second',
      details: { from: 'confirmed' },
    },
    {
      ...common,
      actor: 'user:mortise-testkit:ann',
      action: 'purchase.deleted',
      requestId: 'third',
      details: { status: 'cancelled', itemCount: 1, totalQuantity: 2, total: null },
    },
  ])
})

testOnEngines('a repeated PATCH is in the audit trail once', async (t) => {
  const host = await auditedHost(t)
  const path = `/purchase/${await host.purchase()}`
  const headers = { 'idempotency-key': 'a' }
  const twins = await Promise.all([1, 2, 3].map(() => host.ann.patch(path, { status: 'cancelled' }, headers)))
  t.same(
    twins.map(({ statusCode }) => statusCode),
    [200, 200, 200],
  )
  t.equal(
    (await host.ann.patch(path, { status: 'cancelled' }, headers)).headers['idempotent-replayed'],
    'true',
  )
  t.match(await host.recorded(), [{ action: 'purchase.cancelled' }])
  t.equal((await host.recorded()).length, 1)
})

testOnEngines('a rejected request is not in the audit trail', async (t) => {
  const host = await auditedHost(t)
  const path = `/purchase/${await host.purchase()}`
  const ben = host.user('ben')
  t.equal((await ben.patch(path, { status: 'cancelled' })).statusCode, 404)
  t.equal((await host.ann.patch(path, { status: 'confirmed' })).statusCode, 403)
  t.equal((await host.ann.patch(path, { status: 'completed' })).statusCode, 409)
  t.equal((await host.ann.patch(path, { status: 'cancelled' }, { 'if-match': '"x"' })).statusCode, 412)
  t.equal((await host.manager.delete(path)).statusCode, 403)
  t.same(await host.recorded(), [])
})
