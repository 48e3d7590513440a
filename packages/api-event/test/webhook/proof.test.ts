import { DAY, newId, run, sql } from '@mortise/module-sdk'
import { test } from 'tap'
import { disableUnproven } from '../../src/webhook/proof.ts'
import { receiver } from './receiver.ts'
import { ann, testOnEngines, type WebhookHost, webhookHost } from './webhook-host.ts'

const MINUTE = 60_000
const url = 'https://shop.example/hook'
const other = 'https://elsewhere.example/hook'
const bens = 'user:mortise-testkit:ben'

/** A webhook that ann has made with `event:read`; `ann` and `reader` are hers, without and with it. */
async function everyones(host: WebhookHost, body: object = {}) {
  const reader = host.user('ann', 'event:read')
  const made = await reader.post('/webhook', { url, everyone: true, types: ['purchase.created'], ...body })
  const webhook = made.json()
  const path = `/webhook/${webhook.id}`
  const show = async () => (await host.ann.get(path)).json()
  return { webhook, id: webhook.id, path, reader, show }
}

/** What the module does every minute. */
const minute = (host: WebhookHost) =>
  host.database.transaction(function* () {
    return yield* disableUnproven(function* () {}, yield* host.clock(), 30)
  })

test("the owner of a webhook of everyone's events may narrow it without the scope, and not widen it", async (t) => {
  const host = await webhookHost(t)
  const refused = [
    { url: other },
    { types: ['*'] },
    { types: ['purchase.created', 'purchase.deleted'] },
    { enabled: false, url: other },
  ]
  for (const change of refused) {
    const { path, show } = await everyones(host)
    const before = await show()
    t.match((await host.ann.patch(path, change)).json(), { status: 403, code: 'insufficient-scope' })
    t.same(await show(), before)
    await host.ann.delete(path)
  }
  const allowed = [
    { enabled: false },
    { everyone: true, enabled: false },
    { everyone: true, enabled: true },
    { everyone: false },
    { everyone: false, url: other, enabled: true, types: ['*'] },
    { description: 'bills' },
    { types: ['purchase.deleted'] },
  ]
  for (const change of allowed) {
    const { path, webhook } = await everyones(host, { types: ['purchase.created', 'purchase.deleted'] })
    const changed = (await host.ann.patch(path, change)).json()
    t.match(changed, change)
    const proven = change.everyone === false ? null : webhook.provenUntil
    t.equal(changed.provenUntil, proven, 'and proves nothing')
    t.equal((await host.ann.delete(path)).statusCode, 200)
  }
  const { path } = await everyones(host)
  await host.ann.patch(path, { enabled: false })
  t.equal((await host.ann.patch(path, { enabled: true })).json().code, 'insufficient-scope')
  t.equal((await host.ann.patch(path, { types: ['purchase.created'] })).statusCode, 200)
})

testOnEngines("deliveries of other callers' events need the scope", async (t) => {
  const host = await webhookHost(t)
  const { path, reader } = await everyones(host)
  const own = await host.happen('purchase_a')
  const others = await host.happen('purchase_b', { owner: bens })
  const paths = [`${path}/delivery`, `${path}/delivery/${own}`, `${path}/delivery/${others}`]
  for (const one of paths) {
    t.equal((await reader.get(one)).statusCode, 200)
    t.match((await host.ann.get(one)).json(), { status: 403, code: 'insufficient-scope' })
  }
  await host.ann.patch(path, { everyone: false })
  t.match((await host.ann.get(`${path}/delivery`)).json().data, [{ id: own }])
  t.equal((await host.ann.get(`${path}/delivery`)).json().data.length, 1)
  t.equal((await host.ann.get(`${path}/delivery/${others}`)).json().code, 'delivery-not-found')
  t.equal((await host.ann.post(`${path}/delivery/${others}/replay`)).json().code, 'delivery-not-found')
  t.equal((await reader.get(`${path}/delivery`)).json().data.length, 2)
})

testOnEngines('a narrowed webhook sends no pending event of other callers', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const { path, reader } = await everyones(host, { url })
  await host.happen('purchase_a', { owner: bens })
  await host.happen('purchase_a')
  await host.ann.patch(path, { everyone: false })
  await host.deliverer().deliverDue()
  t.equal(received.length, 1)
  t.match(JSON.parse(received[0]?.body as string), { owner: ann })
  t.match((await reader.get(`${path}/delivery`)).json().data, [
    { state: 'delivered' },
    { state: 'failed', attempts: 0, error: /others/ },
  ])
})

testOnEngines('a webhook stops if its owner does not renew the proof of the scope', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const { path, reader, show, webhook } = await everyones(host, { url })
  t.equal(Date.parse(webhook.provenUntil) - Date.parse(webhook.createdAt), 30 * DAY)
  await host.happen('purchase_waits', { owner: bens })
  host.advance(30 * DAY)
  await host.happen('purchase_late', { owner: bens })
  await host.deliverer().deliverDue()
  t.same(received, [], 'also what was written before')
  const unproven = { enabled: false, disabledReason: 'unproven', version: 2, updatedAt: webhook.provenUntil }
  const before = await show()
  t.match(before, unproven, 'from that moment')
  await minute(host)
  t.same(await show(), before, 'and not from when it is noted')

  t.equal((await host.ann.patch(path, { enabled: true })).json().code, 'insufficient-scope')
  const proven = (await reader.patch(path, { enabled: true })).json()
  t.match(proven, { enabled: true, disabledReason: null })
  t.ok(Date.parse(proven.provenUntil) > Date.parse(webhook.provenUntil))
  await host.happen('purchase_new', { owner: bens })
  await host.deliverer().deliverDue()
  t.match(received, [{ body: /purchase_new/ }])
})

testOnEngines('an expired webhook needs the scope, even before it is marked', async (t) => {
  const host = await webhookHost(t)
  const { id, path, reader, show, webhook } = await everyones(host)
  const { etag } = (await host.ann.get(path)).headers
  host.advance(30 * DAY)
  t.match((await host.ann.get('/webhook')).json().data, [{ id, enabled: false, disabledReason: 'unproven' }])
  t.match((await host.ann.get(`/webhook?after=${newId('webhook')}`)).json().data, [{ id, enabled: false }])
  const seen = await host.ann.get(path)
  t.not(seen.headers.etag, etag)
  t.equal((await reader.patch(path, { enabled: true }, { 'if-match': String(etag) })).statusCode, 412)
  t.equal((await host.ann.patch(path, { enabled: true })).json().code, 'insufficient-scope')
  t.equal((await reader.post(`${path}/test`)).json().code, 'webhook-disabled')
  t.same(await show(), seen.json(), 'what is refused proves nothing')
  t.match((await reader.patch(path, { everyone: true })).json(), { enabled: false, provenUntil: String })
  t.match(await show(), { enabled: false, disabledReason: 'unproven' }, 'nor is it enabled by a proof alone')
  t.match((await reader.patch(path, { enabled: true })).json(), { enabled: true, disabledReason: null })

  for (const use of [
    () => host.ann.patch(path, { description: 'bills' }),
    () => reader.post(`${path}/secret`),
  ]) {
    host.advance(30 * DAY)
    t.ok((await use()).statusCode < 300)
    t.match(await show(), { enabled: false, disabledReason: 'unproven' })
    await reader.patch(path, { enabled: true })
  }
  t.ok((await show()).provenUntil > webhook.provenUntil)
})

test('the right is proven by whatever the owner has it do with the scope, and by an admin who says so', async (t) => {
  const host = await webhookHost(t)
  const admin = host.user('root', 'admin')
  const { path, reader, show } = await everyones(host)
  const proves = async (act: () => Promise<unknown>) => {
    host.advance(DAY)
    const { provenUntil } = await show()
    await act()
    return (await show()).provenUntil > provenUntil
  }
  t.ok(await proves(() => reader.patch(path, { everyone: true })), 'that changes nothing else')
  t.ok(await proves(() => reader.patch(path, { description: 'bills' })))
  t.ok(await proves(() => reader.post(`${path}/test`)))
  t.ok(await proves(() => reader.post(`${path}/secret`)))
  t.notOk(await proves(() => reader.get(path)), 'a GET writes nothing')
  t.notOk(await proves(() => host.ann.patch(path, { description: 'none' })))
  t.notOk(await proves(() => admin.patch(path, { description: "an admin's" })))
  t.ok(await proves(() => admin.patch(path, { everyone: true })))
  t.equal((await host.ann.get(path)).json().version, 5)
})

testOnEngines('no proof holds longer than one made now', async (t) => {
  const host = await webhookHost(t)
  const { show } = await everyones(host)
  host.advance(-50 * DAY)
  await minute(host)
  host.advance(30 * DAY)
  await minute(host)
  t.match(await show(), { enabled: false, disabledReason: 'unproven' }, 'nor more by a clock that was ahead')
})

testOnEngines('a webhook stops with what verified the token that proved the scope', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const { path, reader, show } = await everyones(host, { url })
  const own = (await host.ann.post('/webhook', { url: `${url}/own` })).json()
  const asked: string[] = []
  let isTrusted = true
  const deliverer = host.deliverer({
    trusts: async (proof) => {
      asked.push(proof)
      return isTrusted
    },
  })
  await deliverer.deliverDue()
  isTrusted = false
  const id = await host.happen('purchase_a', { owner: bens })
  await host.happen('purchase_b', { owner: bens })
  await deliverer.deliverDue()
  t.same(received, [])
  t.match(JSON.parse(asked[0] as string), { issuer: 'mortise-testkit', key: String })
  const stopped = await show()
  t.match(stopped, { enabled: false, disabledReason: 'unproven', version: 2 })
  t.equal(stopped.provenUntil, stopped.updatedAt)
  t.match((await reader.get(`${path}/delivery/${id}`)).json(), { state: 'failed', error: /not sent/ })

  t.equal((await host.ann.patch(path, { enabled: true })).json().code, 'insufficient-scope')
  t.match((await reader.patch(path, { enabled: true })).json(), { enabled: true, disabledReason: null })
  await host.happen('purchase_c', { owner: bens })
  await host.deliverer().deliverDue()
  t.match(received, [{ body: /purchase_c/ }], 'a token that the host trusts proves the scope again')
  t.match(
    (await host.ann.get(`/webhook/${own.id}`)).json(),
    { enabled: true },
    'the own events of a user need no scope',
  )
})

testOnEngines('a proof that has ended is noted without a delivery', async (t) => {
  const host = await webhookHost(t)
  const one = await everyones(host)
  const other = await everyones(host)
  const admin = host.user('root', 'admin')
  await admin.patch(other.path, { everyone: true })
  await host.database.transaction(() => run(sql`UPDATE webhook SET proof = NULL WHERE id = ${one.id}`))
  await host.deliverer().deliverDue()
  t.match(await one.show(), { enabled: false, disabledReason: 'unproven' }, 'no proof is no right')
  t.match(await other.show(), { enabled: true })
  await host.deliverer({ trusts: async () => false }).deliverDue()
  t.match(await other.show(), { enabled: false, disabledReason: 'unproven' })
})

testOnEngines('a delivery waits while the issuer that proved the scope cannot be asked', async (t) => {
  const host = await webhookHost(t)
  const { url, received } = await receiver(t)
  const { show } = await everyones(host, { url })
  await host.happen('purchase_a', { owner: bens })
  const unavailable = async () => {
    throw new Error('the keys are unavailable')
  }
  await host.deliverer({ trusts: unavailable }).deliverDue()
  t.same(received, [])
  t.match(await show(), { enabled: true })
  host.advance(MINUTE)
  await host.deliverer().deliverDue()
  t.match(received, [{ body: /purchase_a/ }])
})
