import { mock } from 'node:test'
import { DAY, databaseTime, run, sql, timestamp } from '@mortise/module-sdk'
import { Webhook } from 'standardwebhooks'
import { type Test, test } from 'tap'
import { retryDelays } from '../../src/webhook/deliverer.ts'
import { leaseDue } from '../../src/webhook/deliveries.ts'
import { setFailing } from '../../src/webhook/repository.ts'
import { receiver } from './receiver.ts'
import { ann, testOnEngines, type WebhookHost, webhookHost } from './webhook-host.ts'

const MINUTE = 60_000

/** A webhook of ann's that leads to `url`, and what can be done with it. */
async function webhookOf(host: WebhookHost, url: string, body: object = {}) {
  const { id, secret } = (await host.ann.post('/webhook', { url, ...body })).json()
  const path = `/webhook/${id}`
  return {
    id,
    path,
    secret,
    show: async () => (await host.ann.get(path)).json(),
    /** Oldest first. */
    deliveries: async () => (await host.ann.get(`${path}/delivery?limit=100`)).json().data.reverse(),
    replay: (delivery: string) => host.ann.post(`${path}/delivery/${delivery}/replay`),
  }
}

/** A receiver that returns what it is asked to, in turn, and the last of it from then on. */
async function responding(t: Test, ...statuses: number[]) {
  return receiver(t, (response) => {
    response.writeHead((statuses.length > 1 ? statuses.shift() : statuses[0]) as number).end()
  })
}

testOnEngines('each webhook gets the events that it is for, as CloudEvents', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const reader = host.user('ben', 'event:read')
  await webhookOf(host, `${url}/all`)
  await webhookOf(host, `${url}/some`, { types: ['purchase.created', 'cart.emptied'] })
  const off = await webhookOf(host, `${url}/off`)
  await host.ann.patch(off.path, { enabled: false })
  const gone = await webhookOf(host, `${url}/gone`)
  await host.ann.delete(gone.path)
  await reader.post('/webhook', { url: `${url}/everyone`, everyone: true })
  await reader.post('/webhook', { url: `${url}/bens` })

  const first = await host.happen('purchase_a', {
    data: { total: 3 },
    traceparent: '00-a-b-01',
  })
  await host.happen('purchase_a', { type: 'purchase.deleted' })
  await host.happen('purchase_b', { owner: 'user:mortise-testkit:cleo' })
  await host.happen('stock_a', { owner: null, type: 'stock.counted' })
  await host.deliverer().deliverDue()

  const got = received.map(
    ({ path, body }) => `${path?.slice(6)} ${JSON.parse(body).type} ${JSON.parse(body).subject}`,
  )
  t.same(got.sort(), [
    'all purchase.created purchase_a',
    'all purchase.deleted purchase_a',
    'everyone purchase.created purchase_a',
    'everyone purchase.created purchase_b',
    'everyone purchase.deleted purchase_a',
    'everyone stock.counted stock_a',
    'some purchase.created purchase_a',
  ])
  const [one] = received.filter(({ headers }) => headers['webhook-id'] === first)
  t.equal(one?.headers['content-type'], 'application/cloudevents+json')
  t.same(JSON.parse(one?.body as string), {
    specversion: '1.0',
    id: first,
    type: 'purchase.created',
    source: '/shop',
    subject: 'purchase_a',
    time: timestamp((await host.events())[0]?.at as number),
    datacontenttype: 'application/json',
    data: { total: 3 },
    traceparent: '00-a-b-01',
    owner: ann,
  })
})

test('the published library verifies deliveries before, during and after a rotation', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  const verified = async (...secrets: string[]) => {
    await host.happen('purchase_ä', { data: { text: 'Grüße 𝒳' } })
    await deliverer.deliverDue()
    const { body, headers } = received.at(-1) as (typeof received)[0]
    t.equal(headers['webhook-id'], JSON.parse(body).id)
    return secrets.map((secret) => {
      try {
        return new Webhook(secret).verify(body, headers) !== undefined
      } catch {
        return false
      }
    })
  }
  t.same(await verified(webhook.secret), [true])
  const rotate = async () => (await host.ann.post(`${webhook.path}/secret`)).json().secret
  const second = await rotate()
  t.same(await verified(webhook.secret, second), [true, true])
  host.advance(DAY - MINUTE)
  t.same(await verified(webhook.secret, second), [true, true])
  const third = await rotate()
  host.advance(2 * MINUTE)
  t.same(
    await verified(webhook.secret, second, third),
    [false, true, true],
    'each for a day from its own end',
  )
  host.advance(DAY)
  t.same(await verified(webhook.secret, second, third), [false, false, true])
})

test('a failed delivery is repeated for days under the same id, then it ends', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t, (response) => {
    response.writeHead(500).end('out of order')
  })
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  const id = await host.happen('purchase_a')
  for (const [index, delay] of retryDelays.entries()) {
    await deliverer.deliverDue()
    const [delivery] = await webhook.deliveries()
    t.match(delivery, {
      state: 'pending',
      attempts: index + 1,
      status: 500,
      error: null,
      response: 'out of order',
    })
    const pause = Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.lastAttemptAt)
    t.ok(pause >= delay && pause <= delay * 1.2, `${pause} for ${delay}`)
    await deliverer.deliverDue()
    t.equal(received.length, index + 1, 'not before it is due')
    host.advance(pause)
  }
  await deliverer.deliverDue()
  const [delivery] = await webhook.deliveries()
  t.match(delivery, { id, state: 'failed', attempts: 10, nextAttemptAt: null, endedAt: String })
  host.advance(30 * DAY)
  await deliverer.deliverDue()
  t.equal(received.length, 10)
  t.same([...new Set(received.map(({ headers }) => headers['webhook-id']))], [id])
  t.same([...new Set(received.map(({ body }) => body))].length, 1)
})

test('Retry-After of a receiver is honoured; a success resets its failures', async (t) => {
  const host = await webhookHost(t)
  const statuses = [503, 200]
  const { url } = await receiver(t, (response) => {
    response.writeHead(statuses.shift() as number, { 'retry-after': '3600' }).end()
  })
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  await host.happen('purchase_a')
  await deliverer.deliverDue()
  const [{ nextAttemptAt, lastAttemptAt }] = await webhook.deliveries()
  t.equal(Date.parse(nextAttemptAt) - Date.parse(lastAttemptAt), 3_600_000)
  const failing = await webhook.show()
  t.equal(failing.failingSince, lastAttemptAt)
  t.same((await host.ann.patch(webhook.path, { enabled: true, url })).json(), failing, 'nothing has changed')
  host.advance(3_600_000)
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ state: 'delivered', attempts: 2, status: 200 }])
  t.match(await webhook.show(), { failingSince: null, enabled: true, version: 1 })
})

testOnEngines('410 disables a webhook at once and ends its pending deliveries', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 410, 200)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  for (const subject of ['purchase_a', 'purchase_a', 'purchase_a']) await host.happen(subject)
  await deliverer.deliverDue()
  t.equal(received.length, 1)
  t.match(await webhook.show(), { enabled: false, disabledReason: 'gone', version: 2 })
  const deliveries = await webhook.deliveries()
  t.match(deliveries, [
    { state: 'failed', status: 410, attempts: 1, nextAttemptAt: null },
    { state: 'failed', attempts: 0, error: 'the webhook was disabled' },
    { state: 'failed', attempts: 0, error: 'the webhook was disabled' },
  ])
  t.equal((await webhook.replay(deliveries[1].id)).json().code, 'webhook-disabled')
  t.equal((await host.ann.post(`${webhook.path}/test`)).json().code, 'webhook-disabled')
  await host.happen('purchase_b')
  t.equal((await webhook.deliveries()).length, 3)

  t.match((await host.ann.patch(webhook.path, { enabled: true })).json(), {
    disabledReason: null,
    failingSince: null,
  })
  await host.happen('purchase_b')
  await deliverer.deliverDue()
  t.match((await webhook.deliveries()).at(-1), { state: 'delivered' })
})

test('5 days without a success disable a webhook', async (t) => {
  const host = await webhookHost(t)
  const { url } = await responding(t, 500)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  await host.happen('purchase_a')
  await deliverer.deliverDue()
  host.advance(5 * DAY - MINUTE)
  await deliverer.deliverDue()
  t.match(await webhook.show(), { enabled: true, disabledReason: null })
  host.advance(DAY)
  await deliverer.deliverDue()
  t.match(await webhook.show(), { enabled: false, disabledReason: 'failing' })
})

testOnEngines(
  'the events of a subject come in order: later ones wait for the earlier, other subjects do not',
  async (t) => {
    const host = await webhookHost(t)
    const { url, received } = await responding(t, 500, 200)
    const webhook = await webhookOf(host, url)
    const deliverer = host.deliverer()
    const first = await host.happen('purchase_a')
    const second = await host.happen('purchase_a')
    await deliverer.deliverDue()
    const other = await host.happen('purchase_b')
    const third = await host.happen('purchase_a')
    await deliverer.deliverDue()
    const ids = () => received.map(({ headers }) => headers['webhook-id'])
    t.same(ids(), [first, other])
    t.match(await webhook.deliveries(), [
      { id: first, state: 'pending', nextAttemptAt: String },
      { id: second, state: 'pending', nextAttemptAt: null },
      { id: other, state: 'delivered' },
      { id: third, state: 'pending', nextAttemptAt: null },
    ])
    host.advance(MINUTE)
    await deliverer.deliverDue()
    t.same(ids(), [first, other, first, second, third])
  },
)

testOnEngines('several workers send each delivery once, a few at a time', async (t) => {
  const host = await webhookHost(t)
  let now = 0
  let most = 0
  const { url, received } = await receiver(t, async (response) => {
    most = Math.max(most, ++now)
    await new Promise(setImmediate)
    now -= 1
    response.end()
  })
  await webhookOf(host, url)
  for (let n = 0; n < 40; n++) await host.happen(`purchase_${n % 20}`)
  await Promise.all([host.deliverer(), host.deliverer(), host.deliverer()].map((one) => one.deliverDue()))
  const ids = received.map(({ headers }) => headers['webhook-id'])
  t.equal(ids.length, 40)
  t.equal(new Set(ids).size, 40)
  t.ok(most <= 12, `${most} at a time`)
  const bySubject = Map.groupBy(received, ({ body }) => JSON.parse(body).subject)
  for (const some of bySubject.values()) {
    const positions = some.map(({ body }) => JSON.parse(body).data.position)
    t.same(
      positions,
      positions.toSorted((a, b) => a - b),
    )
  }
})

testOnEngines('deliveries of a dead worker are taken over, and it cannot end them', async (t) => {
  const host = await webhookHost(t)
  const hanging: (() => void)[] = []
  const { url, received } = await receiver(t, (response) => {
    if (received.length > 1) response.end()
    else hanging.push(() => response.writeHead(500).end())
  })
  const webhook = await webhookOf(host, url)
  await host.happen('purchase_a')
  const stuck = host.deliverer()
  const stuckDone = stuck.deliverDue()
  while (hanging.length === 0) await new Promise(setImmediate)
  const other = host.deliverer()
  await other.deliverDue()
  t.equal(received.length, 1, 'not while the lease lasts')
  t.match(await webhook.deliveries(), [{ state: 'pending', nextAttemptAt: null }])
  host.advance(MINUTE)
  await other.deliverDue()
  t.equal(received.length, 2)
  hanging[0]?.()
  await stuckDone
  t.match(await webhook.deliveries(), [{ state: 'delivered', attempts: 1, status: 200 }])
  t.match(await webhook.show(), { failingSince: null })
})

test('a hanging receiver does not keep a worker from ending', async (t) => {
  const host = await webhookHost(t)
  let hangs = () => {}
  const hanging = new Promise<void>((resolve) => {
    hangs = resolve
  })
  const { url } = await receiver(t, () => hangs())
  const webhook = await webhookOf(host, url)
  await host.happen('purchase_a')
  await host.happen('purchase_b')
  const deliverer = host.deliverer({ patience: 50 })
  const done = deliverer.deliverDue()
  await hanging
  await deliverer.close()
  await done
  t.match(await webhook.deliveries(), [
    { state: 'pending', attempts: 1, error: /the application stopped/, nextAttemptAt: String },
    { state: 'pending', attempts: 1 },
  ])
  await host.happen('purchase_c')
  await deliverer.deliverDue()
  t.match((await webhook.deliveries()).at(-1), { attempts: 0 }, 'and begins nothing')
})

test('the response to a delivery is kept in full where it has failed', async (t) => {
  const host = await webhookHost(t)
  const statuses = [500, 200]
  const { url } = await receiver(t, (response) => {
    response.writeHead(statuses.shift() as number).end('x'.repeat(5000))
  })
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  await host.happen('purchase_a')
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ response: 'x'.repeat(4096) }])
  host.advance(MINUTE)
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ state: 'delivered', response: 'x'.repeat(256) }])
})

test('a test event is sent once and affects no counters', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 410, 200)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  for (const [status, state] of [
    [410, 'failed'],
    [200, 'delivered'],
  ]) {
    const test = await host.ann.post(`${webhook.path}/test`)
    t.equal(test.statusCode, 202)
    await deliverer.deliverDue()
    const shown = (await host.ann.get(test.headers.location as string)).json()
    t.match(shown, { type: 'webhook.test', state, status, attempts: 1 })
  }
  t.match(JSON.parse(received[0]?.body as string), { type: 'webhook.test', subject: webhook.id, data: {} })
  t.match(await webhook.show(), { enabled: true, failingSince: null, version: 1 })
})

test('a delivery is replayed under its id; one that is pending, at once and with all its attempts', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 200, 500, 500, 500, 200)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  const id = await host.happen('purchase_a')
  await deliverer.deliverDue()
  const [delivery] = await webhook.deliveries()
  t.match((await webhook.replay(delivery.id)).json(), { id: delivery.id, state: 'pending', attempts: 0 })
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ state: 'pending', attempts: 1, status: 500 }])
  for (const _impatient of [1, 2]) {
    t.match((await webhook.replay(delivery.id)).json(), { attempts: 0 })
    await deliverer.deliverDue()
    t.match(await webhook.deliveries(), [{ state: 'pending', attempts: 1, status: 500 }])
  }
  host.advance(6_000)
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ state: 'delivered', attempts: 2 }])
  t.same(
    received.map(({ headers }) => headers['webhook-id']),
    Array(5).fill(id),
  )
})

testOnEngines('a replayed delivery waits for what is pending of its subject', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 200, 500, 200)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  const first = await host.happen('purchase_a')
  await deliverer.deliverDue()
  const second = await host.happen('purchase_a')
  await deliverer.deliverDue()
  const [delivery] = await webhook.deliveries()
  t.match((await webhook.replay(delivery.id)).json(), { state: 'pending', nextAttemptAt: null })
  const third = await host.happen('purchase_a')
  host.advance(MINUTE)
  await deliverer.deliverDue()
  t.same(
    received.map(({ headers }) => headers['webhook-id']),
    [first, second, second, first, third],
  )
})

testOnEngines('the log is read page by page, by state, newest first', async (t) => {
  const host = await webhookHost(t)
  const { url } = await responding(t, 410)
  const webhook = await webhookOf(host, url)
  const events: string[] = []
  for (let n = 0; n < 7; n++) events.push(await host.happen(`purchase_${n}`))
  const walk = async (query: string) => {
    const pages: string[][] = []
    for (let next = `${webhook.path}/delivery?${query}`; next; ) {
      const page = (await host.ann.get(next)).json()
      pages.push(page.data.map(({ id }: { id: string }) => id))
      next = page.next
    }
    return pages
  }
  const newest = events.toReversed()
  t.same(await walk('limit=3&state=pending'), [newest.slice(0, 3), newest.slice(3, 6), newest.slice(6)])
  t.same(await walk('limit=7'), [newest])
  t.same(await walk('state=failed'), [[]])
})

testOnEngines('after the correction of a clock that was ahead, deliveries continue at once', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 500, 200)
  const webhook = await webhookOf(host, url)
  const deliverer = host.deliverer()
  await deliverer.deliverDue()
  host.advance(120 * MINUTE)
  await host.happen('purchase_a')
  await deliverer.deliverDue()
  t.match(await webhook.deliveries(), [{ state: 'pending', attempts: 1 }])
  await host.happen('purchase_b')
  await host.happen('purchase_c')
  await host.database.transaction(function* () {
    const now = (yield* databaseTime()) + 120 * MINUTE
    yield* run(
      sql`UPDATE webhook_delivery SET lease = 'killed', due_at = ${now + MINUTE} WHERE subject = 'purchase_c'`,
    )
  })
  host.advance(-120 * MINUTE)
  await deliverer.deliverDue()
  t.match(
    received.map(({ body }) => JSON.parse(body).subject).sort(),
    ['purchase_a', 'purchase_a', 'purchase_b'],
    'a lease of this time may be under way yet',
  )
  await host.deliverer().deliverDue()
  t.equal(received.length, 3, 'it has a minute from now')
  host.advance(MINUTE)
  await host.deliverer().deliverDue()
  t.match(await webhook.deliveries(), [
    { state: 'delivered' },
    { state: 'delivered' },
    { state: 'delivered' },
  ])
})

testOnEngines('deliveries leased by a killed host are due when another one starts', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await responding(t, 200)
  await webhookOf(host, url)
  await host.happen('purchase_a')
  await host.database.transaction(() =>
    run(sql`UPDATE webhook_delivery SET lease = 'killed', due_at = due_at + ${121 * MINUTE}`),
  )
  await host.deliverer().deliverDue()
  t.equal(received.length, 1)
})

testOnEngines('a lease takes a few deliveries of each webhook', async (t) => {
  const host = await webhookHost(t)
  const busy = await webhookOf(host, 'http://127.0.0.1:1/')
  for (let n = 0; n < 20; n++) await host.happen(`purchase_${n}`)
  const other = await webhookOf(host, 'http://127.0.0.1:1/')
  for (let n = 0; n < 3; n++) await host.happen(`purchase_new_${n}`)
  const lease = (underWay: [string, number][]) =>
    host.database.transaction(function* () {
      const now = yield* databaseTime()
      const limits = { limit: 8, perWebhook: 4, perOwner: 16 }
      const query = { lease: 'lease_a', ...limits, underWayOf: new Map(), now, until: now + MINUTE }
      return yield* leaseDue({ ...query, underWay: new Map(underWay) })
    })
  const first = await lease([])
  t.same(
    first.map(({ webhook }) => webhook),
    [busy, busy, busy, busy, other, other, other].map(({ id }) => id),
  )
  t.same(
    await lease([
      [busy.id, 4],
      [other.id, 3],
    ]),
    [],
  )
  t.equal((await lease([[busy.id, 3]])).length, 1)
  await host.database.transaction(() => setFailing(busy.id, 1))
  t.equal((await lease([[busy.id, 1]])).length, 0)
  t.equal((await lease([])).length, 1)
})

testOnEngines('the webhooks of one owner leave room for those of others', async (t) => {
  const host = await webhookHost(t)
  const ben = host.user('ben')
  const bens = 'user:mortise-testkit:ben'
  for (let n = 0; n < 3; n++) await host.ann.post('/webhook', { url: 'http://127.0.0.1:1/' })
  for (let n = 0; n < 4; n++) await host.happen(`purchase_${n}`)
  await ben.post('/webhook', { url: 'http://127.0.0.1:1/' })
  await host.happen('purchase_bens', { owner: bens })
  const lease = (underWayOf: [string, number][]) =>
    host.database.transaction(function* () {
      const now = yield* databaseTime()
      const limits = { limit: 64, perWebhook: 4, perOwner: 5 }
      const counts = { underWay: new Map(), underWayOf: new Map(underWayOf) }
      const leased = yield* leaseDue({ lease: 'lease_a', ...limits, ...counts, now, until: now + MINUTE })
      return leased.map(({ owner }) => owner)
    })
  t.same(await lease([[ann, 2]]), [ann, ann, ann, bens])
  t.same(await lease([[ann, 5]]), [])
  t.equal((await lease([])).length, 5)
})

testOnEngines(
  'deliveries that ended long ago are forgotten, and those of a deleted webhook with it',
  async (t) => {
    mock.timers.enable({ apis: ['setInterval'] })
    t.teardown(() => mock.timers.reset())
    const host = await webhookHost(t)
    const { url } = await responding(t, 200)
    const kept = await webhookOf(host, url)
    const deleted = await webhookOf(host, url)
    const deliverer = host.deliverer()
    await host.happen('purchase_a')
    await deliverer.deliverDue()
    host.advance(6 * DAY)
    await host.happen('purchase_b')
    await deliverer.deliverDue()
    await host.ann.delete(deleted.path)
    const rows = async () => [
      (await host.database.many(sql`SELECT id FROM webhook ORDER BY id`)).length,
      (await host.database.many(sql`SELECT id FROM webhook_delivery`)).length,
    ]
    t.same(await rows(), [2, 4])
    host.advance(2 * DAY)
    mock.timers.tick(MINUTE)
    while ((await rows())[0] !== 1) await new Promise(setImmediate)
    t.same(await rows(), [1, 1])
    t.match(await kept.deliveries(), [{ subject: 'purchase_b' }])
  },
)
