import { fileURLToPath } from 'node:url'
import { run, sql } from '@mortise/module-sdk'
import { receiver } from './receiver.ts'
import { testOnEngines, webhookHost } from './webhook-host.ts'

const set = {
  module: 'api-event',
  directory: fileURLToPath(new URL('../../migrations', import.meta.url)),
  tables: 'webhook',
}
const shares = { module: 'api-event', name: '002-shares' }
const proof = { module: 'api-event', name: '003-webhook-proof' }
const order = { module: 'api-event', name: '004-order-of-deliveries' }

testOnEngines('webhooks and deliveries of the previous version go on, and back again', async (t) => {
  const host = await webhookHost(t)
  const { database } = host
  const { url, received } = await receiver(t)
  const { id } = (await host.ann.post('/webhook', { url })).json()
  const everyones = (
    await host.user('ben', 'event:read').post('/webhook', { url, everyone: true, types: ['cart.emptied'] })
  ).json().id
  await host.happen('purchase_a')
  await database.undo([order, proof, shares])
  t.same(await database.many(sql`SELECT id FROM webhook_delivery`), [], 'it cannot make their bodies')

  await database.transaction(function* () {
    for (const [event, webhook, position, dueAt] of [
      ['event_old', id, 1, 1],
      ['event_next', id, 2, null],
      ['event_others', everyones, 1, null],
    ]) {
      yield* run(sql`
        INSERT INTO webhook_delivery (id, webhook, type, subject, position, body, state, attempts, due_at, created_at)
        VALUES (${event}, ${webhook}, 'cart.emptied', 'cart_a', ${position}, '{"old":true}', 'pending', 0, ${dueAt}, 1)`)
    }
  })
  t.same(await database.migrate([set]), [shares, proof, order])
  t.same(await database.many(sql`SELECT id, of_others AS "ofOthers" FROM webhook_delivery ORDER BY id`), [
    { id: 'event_next', ofOthers: 0 },
    { id: 'event_old', ofOthers: 0 },
    { id: 'event_others', ofOthers: 1 },
  ])
  t.same(
    await database.many(sql`SELECT proven_until = updated_at AS ended FROM webhook WHERE everyone = 1`),
    [{ ended: host.database.engine === 'sqlite' ? 1 : true }],
  )
  await host.deliverer().deliverDue()
  t.same(
    received.map(({ headers, body }) => [headers['webhook-id'], body]),
    [
      ['event_old', '{"old":true}'],
      ['event_next', '{"old":true}'],
    ],
  )

  const late = await host.happen('cart_b')
  await database.transaction(() =>
    run(sql`UPDATE webhook_delivery SET state = 'pending', subject = 'cart_b' WHERE id = 'event_old'`),
  )
  await database.undo([order, proof, shares])
  t.match(
    await database.many(sql`SELECT id, due_at AS "dueAt" FROM webhook_delivery ORDER BY id`),
    [{ id: 'event_next' }, { id: 'event_old', dueAt: 1 }, { id: 'event_others' }],
    `the turn of ${late} is given on`,
  )
  await database.migrate([set])
})
