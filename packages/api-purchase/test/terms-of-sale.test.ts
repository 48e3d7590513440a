import type { CatalogContract } from '@mortise/api-product/contract'
import { type Audit, type Caller, run, sql, type Transaction } from '@mortise/module-sdk'
import type { TestHost } from '@mortise/module-testkit'
import { giveBackLate } from '../src/sale.ts'
import { changeStatus, expirePending, removePurchase } from '../src/service.ts'
import { fillPurchases } from './fill-purchases.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'
import { buy, euros, sell, shop, stockOf } from './shop.ts'

function* nothing(): Transaction<void> {}
const audit: Audit = nothing
const owner: Caller = { id: 'user:mortise-testkit:ann', kind: 'user', has: () => true }

testOnEngines('another total than the expected one sells nothing', async (t) => {
  const host = await shop(t)
  const manager = host.user('root', 'product:manage')
  await sell(manager, { tea: { price: euros(450), stock: 9 } })
  const ann = host.user('ann')
  t.match((await buy(ann, { tea: 2 }, { expectedTotal: euros(900) })).json(), { total: euros(900) })
  await manager.patch('/product/tea', { price: euros(500) }, { 'if-match': '*' })
  for (const expectedTotal of [euros(900), { amount: 1000, currency: 'USD' }]) {
    const refused = await buy(ann, { tea: 2 }, { expectedTotal })
    t.match(refused.json(), { status: 409, code: 'total-changed', total: euros(1000) })
  }
  t.equal(await stockOf(ann, 'tea'), 7)
  t.equal((await buy(ann, { tea: 2 }, { expectedTotal: 900 })).statusCode, 400)
})

testOnEngines('without a catalogue there is no total to expect', async (t) => {
  const ann = (await purchaseHost(t)).user('ann')
  const refused = await buy(ann, { tea: 2 }, { expectedTotal: euros(900) })
  t.match(refused.json(), { status: 409, code: 'total-changed', total: null })
})

testOnEngines('a dry run responds alike, and does nothing', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), { tea: { price: euros(450), stock: 5 } })
  const events = (await host.events()).length
  const guest = host.guest()
  const tried = await buy(guest, { tea: 2 }, { dryRun: true, note: 'Ring twice', reference: 'PO-1' })
  t.equal(tried.statusCode, 201)
  t.notOk(tried.headers['guest-token'] || tried.headers.location, 'there is no guest, and nothing to get')
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 3 })
  const key = { 'idempotency-key': 'once' }
  const wanted = { items: [{ product: 'tea', quantity: 3 }], takeFromCart: true }
  const dry = await ann.post('/purchase', { ...wanted, dryRun: true }, key)
  t.equal(await stockOf(ann, 'tea'), 5)
  t.match((await ann.get('/cart')).json(), { totalQuantity: 3 })
  t.equal((await ann.get('/purchase')).json().total, 0)
  t.equal((await ann.get(`/purchase/${dry.json().id}`)).statusCode, 404)
  const stored = await ann.post('/purchase', wanted, key)
  t.equal(stored.statusCode, 201, 'the key is free')
  const asStored = (purchase: object) => ({
    ...purchase,
    id: '',
    number: 0,
    items: [],
    createdAt: '',
    updatedAt: '',
  })
  t.strictSame(asStored(dry.json()), asStored(stored.json()))
  t.match(dry.json().items, [{ product: 'tea', quantity: 3, unitPrice: euros(450), lineTotal: euros(1350) }])
  t.equal((await host.events()).length, events + 3, 'of the cart and the purchase')
  const match = { 'if-match': '*' }
  const one = { items: [{ product: 'tea', quantity: 1 }] }
  for (const body of [one, { ...one, dryRun: true }])
    t.match((await ann.post('/purchase', body, match)).json(), { status: 412 }, 'it compares no tag')
  for (const [lines, more, code] of [
    [{ tea: 3 }, {}, 'out-of-stock'],
    [{ cup: 3 }, {}, 'unknown-product'],
    [{ tea: 1 }, { expectedTotal: euros(1) }, 'total-changed'],
    [{ tea: 1 }, { takeFromCart: true }, 'cart-changed'],
  ] as const) {
    const [dryly, really] = [await buy(ann, lines, { ...more, dryRun: true }), await buy(ann, lines, more)]
    t.equal(dryly.json().code, code)
    t.strictSame({ ...dryly.json(), requestId: '' }, { ...really.json(), requestId: '' })
  }
})

testOnEngines('purchases have rising numbers, a note and a reference', async (t, engine) => {
  const host = await purchaseHost(t)
  const [ann, ben] = [host.user('ann'), host.user('ben')]
  const first = (await buy(ann, { tea: 1 }, { note: 'Ring twice', reference: 'PO-1' })).json()
  t.match(first, { note: 'Ring twice', reference: 'PO-1' })
  t.strictSame((await ann.get(`/purchase/${first.id}`)).json(), first)
  t.match((await ann.get('/purchase')).json().data, [
    { number: first.number, note: 'Ring twice', reference: 'PO-1' },
  ])
  await ann.delete(`/purchase/${first.id}`)
  await buy(ben, { tea: 1 }, { takeFromCart: true })
  const second = (await buy(ben, { tea: 1 })).json()
  t.match(second, { note: null, reference: null })
  t.ok(second.number > first.number)
  if (engine === 'sqlite') t.equal(second.number, first.number + 1, 'without a gap')
  for (const wrong of [
    { note: '' },
    { reference: 'x'.repeat(129) },
    { note: 'x'.repeat(1001) },
    { reference: 1 },
  ])
    t.equal((await buy(ann, { tea: 1 }, wrong)).statusCode, 400)
})

testOnEngines('a list is filtered by time and product, and shows items on demand', async (t) => {
  const host = await purchaseHost(t)
  const ann = host.user('ann')
  const made = []
  for (const lines of [{ tea: 1 }, { tea: 2, cup: 1 }, { cup: 3 }]) made.push((await buy(ann, lines)).json())
  const ids = async (query: string) =>
    (await ann.get(`/purchase?${query}`)).json().data.map(({ id }: { id: string }) => id)
  const [first, second, third] = made
  t.strictSame(await ids('product=tea'), [second.id, first.id])
  t.strictSame(await ids('product=te'), [])
  t.strictSame(
    await ids(`product=cup&createdAfter=${second.createdAt}`),
    third.createdAt > second.createdAt ? [third.id] : [],
  )
  t.strictSame(await ids('createdAfter=2000-01-01T00:00:00.000Z&status=pending'), [
    third.id,
    second.id,
    first.id,
  ])
  t.strictSame(await ids('createdBefore=2000-01-01T00:00:00.000Z'), [])
  t.strictSame(await ids(`createdBefore=${encodeURIComponent('2999-01-01T00:00:00+02:00')}&rpp=1`), [
    third.id,
  ])
  t.strictSame(await ids(`number=${second.number}`), [second.id])
  t.strictSame(await ids(`number=${second.number}&status=cancelled`), [])
  t.strictSame(await ids('number=999999'), [])
  for (const wrong of ['createdAfter=yesterday', 'createdBefore=1', 'product=', 'expand=all', 'number=0'])
    t.equal((await ann.get(`/purchase?${wrong}`)).statusCode, 400, wrong)
  const { data } = (await ann.get('/purchase?expand=items')).json()
  t.strictSame(data, made.toReversed())
  const after = (await ann.get(`/purchase?expand=items&after=${third.id}&rpp=1`)).json()
  t.strictSame(after.data, [second])
  t.notOk('items' in (await ann.get('/purchase')).json().data[0])
})

testOnEngines('what ends while there is no catalogue gives its stock back later, once', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), { tea: { stock: 9 }, jam: {} })
  const ann = host.user('ann')
  const { database } = host
  const withoutCatalogue = async (lines: Readonly<Record<string, number>>) => {
    const { id } = (await buy(ann, lines)).json()
    await database.transaction(() => changeStatus(owner, id, 'cancelled', audit))
  }
  await withoutCatalogue({ tea: 2, jam: 1 })
  await withoutCatalogue({ jam: 1 })
  const deleted = (await buy(ann, { tea: 3 })).json().id
  await database.transaction(() => removePurchase(owner, deleted, audit))
  t.equal(await stockOf(ann, 'tea'), 4)
  t.equal((await database.many(sql`SELECT purchase_seq FROM purchase_return`)).length, 2)
  t.strictSame(await givenBack(host, giveBackLate), [[2, 3]], 'in one call, which locks products in order')
  t.strictSame(await givenBack(host, giveBackLate), [])
})

testOnEngines('what expires together gives its stock back in one call', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), { tea: { stock: 9 }, jam: { stock: 9 } })
  for (const product of ['tea', 'jam']) await buy(host.user('ann'), { [product]: 2 })
  const later = Date.now() + 1
  const expire = (catalog: CatalogContract) => expirePending(later, audit, catalog)
  t.strictSame(await givenBack(host, expire), [[2, 2]])
  t.strictSame(await givenBack(host, expire), [])
})

/** The quantities that a transaction gives back, by call. */
async function givenBack(
  { database }: TestHost,
  steps: (catalog: CatalogContract) => Transaction<unknown>,
): Promise<number[][]> {
  const given: number[][] = []
  const giveBack: CatalogContract['giveBack'] = (lines) => {
    given.push(lines.map(({ quantity }) => quantity).sort())
    return nothing()
  }
  await database.transaction(() => {
    given.length = 0
    return steps({ giveBack } as CatalogContract)
  })
  return given
}

testOnEngines('a filter finds few of many purchases', async (t) => {
  const { database, user } = await purchaseHost(t, { rehearse: false })
  const clerk = user('clerk', 'purchase:read')
  await database.transaction(() =>
    fillPurchases({
      last: 0,
      count: 3_000,
      id: sql`'purchase_' || n`,
      owner: sql`'user:' || (n % 3)`,
      status: sql`CASE WHEN n % 2 = 0 THEN 'cancelled' ELSE 'pending' END`,
      at: sql`n * 1000`,
    }),
  )
  await database.transaction(() =>
    run(sql`UPDATE purchase_item SET product = 'cup' WHERE purchase_seq % 700 = 0`),
  )
  const found = async (query: string) => {
    const page = (await clerk.get(`/purchase?owner=*&${query}`)).json()
    return [page.data.map(({ number }: { number: number }) => number), page.total]
  }
  t.strictSame(await found('product=cup'), [[2800, 2100, 1400, 700], 4])
  t.strictSame(await found('product=cup&rpp=1&page=4'), [[700], 4])
  t.strictSame(await found('product=cup&status=pending'), [[], 0])
  t.strictSame(await found('product=cup&rpp=2&after=purchase_2801'), [[2800, 2100], undefined])
  t.strictSame(await found('createdBefore=1970-01-01T00:00:03.000Z'), [[2, 1], 2])
  t.strictSame(await found('createdAfter=1970-01-01T00:49:59.000Z'), [[3000], 1])
})
