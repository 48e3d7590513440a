import { DAY, run, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { receiver } from './receiver.ts'
import { testOnEngines, type WebhookHost, webhookHost } from './webhook-host.ts'

const MOST = 5
const _WEEK = 7 * DAY

/** A webhook of ann's whose receiver returns `status`, which a test may change. */
async function webhookOf(t: Test, host: WebhookHost, status: number, body: object = {}) {
  const now = { status }
  const { url, received } = await receiver(t, (response) => {
    response.writeHead(now.status).end()
  })
  const { id } = (await host.ann.post('/webhook', { url, ...body })).json()
  const path = `/webhook/${id}`
  return {
    id,
    path,
    now,
    show: async () => (await host.ann.get(path)).json(),
    /** Numbers of events, as they came; first attempts that fail are among them. */
    numbers: () => received.map(({ body }) => JSON.parse(body).data.position),
    clear: () => received.splice(0),
    pending: async () => (await host.ann.get(`${path}/delivery?state=pending&limit=100`)).json().data.length,
  }
}

const numbersFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

testOnEngines('a webhook that is behind gets all events in order, once it works', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 500)
  const deliverer = host.deliverer()
  for (let n = 0; n < 20; n++) await host.happen(`purchase_${n % 2}`)
  t.equal(await webhook.pending(), MOST)
  t.match(await webhook.show(), { behindSince: String, missedUntil: null, enabled: true })
  await deliverer.deliverDue()
  t.equal(await webhook.pending(), MOST, 'what has failed once is no room')

  webhook.now.status = 200
  webhook.clear()
  host.advance(60_000)
  await deliverer.deliverDue()
  const numbers = webhook.numbers()
  t.same(
    numbers.toSorted((a, b) => a - b),
    numbersFrom(1, 20),
    'each once',
  )
  for (const odd of [0, 1]) {
    const some = numbers.filter((number) => number % 2 === odd)
    t.same(
      some,
      some.toSorted((a, b) => a - b),
      'in the order of their subject',
    )
  }
  t.match(await webhook.show(), { behindSince: null, missedUntil: null })
  await host.happen('purchase_0')
  await deliverer.deliverDue()
  t.equal(webhook.numbers().at(-1), 21, 'and follows')
})

testOnEngines('events for others do not delay a webhook', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 200, { types: ['purchase.created'] })
  const deliverer = host.deliverer()
  const happenAll = async (times: number) => {
    for (let n = 0; n < times; n++) {
      await host.happen(`purchase_${n}`)
      await host.happen(`purchase_${n}`, { type: 'purchase.deleted' })
      await host.happen(`purchase_${n}`, { owner: 'user:mortise-testkit:ben' })
    }
  }
  await happenAll(8)
  await deliverer.deliverDue()
  await happenAll(2)
  await deliverer.deliverDue()
  t.same(
    webhook.numbers().toSorted((a, b) => a - b),
    [1, 4, 7, 10, 13, 16, 19, 22, 25, 28],
  )
  t.match(await webhook.show(), { behindSince: null })
})

testOnEngines('a free place left by a killed host is filled by one of several', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 200)
  for (let n = 0; n < 12; n++) await host.happen(`purchase_${n}`)
  await host.backlog.fillAll()
  t.equal(await webhook.pending(), MOST)
  await host.database.transaction(() =>
    run(sql`UPDATE webhook_delivery SET state = 'delivered', due_at = NULL, ended_at = 1`),
  )
  await Promise.all([host.backlog.fillAll(), host.backlog.fillAll(), host.backlog.fillUp(webhook.id)])
  t.equal(await webhook.pending(), MOST)
  await host.deliverer().deliverDue()
  t.same(
    webhook.numbers().toSorted((a, b) => a - b),
    numbersFrom(6, 12),
  )
})

testOnEngines('a webhook shows that events expired while it was behind', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 200)
  for (let n = 0; n < 12; n++) await host.happen(`purchase_${n}`)
  await host.database.transaction(() => run(sql`DELETE FROM mortise_event WHERE position <= 8`))
  const kept = (await host.events())[0]?.at as number
  await host.deliverer().deliverDue()
  t.same(
    webhook.numbers().toSorted((a, b) => a - b),
    [9, 10, 11, 12],
  )
  const { data } = (await host.ann.get(`${webhook.path}/delivery?state=failed`)).json()
  t.equal(data.length, MOST)
  t.match(data[0], { error: /the event was deleted/, attempts: 1 })
  t.match(await webhook.show(), {
    behindSince: null,
    missedUntil: new Date(kept).toISOString(),
    failingSince: null,
    enabled: true,
  })
})

testOnEngines('a webhook that was disabled while behind continues with new events', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 200)
  const deliverer = host.deliverer()
  for (let n = 0; n < 12; n++) await host.happen(`purchase_${n}`)
  t.match((await host.ann.patch(webhook.path, { enabled: false })).json(), { behindSince: null })
  await host.backlog.fillAll()
  await deliverer.deliverDue()
  await host.ann.patch(webhook.path, { enabled: true })
  await host.happen('purchase_new')
  await deliverer.deliverDue()
  t.same(webhook.numbers(), [13])
})

testOnEngines('a test, or a replay, needs room too', async (t) => {
  const host = await webhookHost(t, undefined, MOST)
  const webhook = await webhookOf(t, host, 200)
  const first = await host.happen('purchase_a')
  await host.deliverer().deliverDue()
  for (let n = 0; n < MOST; n++) await host.happen('purchase_a')
  const replay = (id: string) => host.ann.post(`${webhook.path}/delivery/${id}/replay`)
  t.match((await replay(first)).json(), { code: 'webhook-full', status: 409 })
  t.match((await host.ann.post(`${webhook.path}/test`)).json(), { code: 'webhook-full' })
  const [pending] = (await host.ann.get(`${webhook.path}/delivery?state=pending`)).json().data
  t.equal((await replay(pending.id)).statusCode, 200, 'of one that is pending already')
})

testOnEngines('an event is stored once for any number of failing webhooks', async (t) => {
  const host = await webhookHost(t)
  for (let n = 0; n < 10; n++) await webhookOf(t, host, 500)
  await host.happen('purchase_a', { data: { text: 'x'.repeat(20_000) } })
  const rows = await host.database.many<object>(sql`SELECT * FROM webhook_delivery`)
  t.equal(rows.length, 10)
  t.ok(JSON.stringify(rows).length < 10_000)
})
