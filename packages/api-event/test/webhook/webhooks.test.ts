import { defineModule, sql } from '@mortise/module-sdk'
import { createTestHost } from '@mortise/module-testkit'
import { Type } from '@sinclair/typebox'
import { receiver } from './receiver.ts'
import { ann, loopback, shop, testOnEngines, webhookModule } from './webhook-host.ts'

const { emit } = defineModule('shop', {
  events: { 'purchase.created': Type.Object({ total: Type.Integer() }) },
})

testOnEngines('events are sent in order until the module closes', async (t) => {
  const arrivals: (() => void)[] = []
  const { url, received } = await receiver(t, (response) => {
    response.end()
    arrivals.shift()?.()
  })
  const arrived = () => new Promise<void>((resolve) => arrivals.push(resolve))
  const host = await createTestHost(t, {
    modules: [shop, webhookModule({ lookEvery: 5 })],
    config: { modules: { 'api-event': loopback } },
  })
  await host.user('ann').post('/webhook', { url, types: ['purchase.created'] })
  const all = Promise.all(Array.from({ length: 20 }, arrived))
  for (let total = 1; total <= 20; total++) {
    await host.database.transaction(() =>
      emit('purchase.created', { subject: 'purchase_a', owner: ann, data: { total } }),
    )
  }
  await all
  t.same(
    received.map(({ body }) => JSON.parse(body).data.total),
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
  await host.app.close()
  t.same(await host.database.many(sql`SELECT state FROM webhook_delivery WHERE state <> 'delivered'`), [])
})
