import { type Audit, type Caller, type Page, timestamp } from '@mortise/module-sdk'
import type { Test } from 'tap'
import type { PurchaseQuery, PurchaseSummary } from '../src/schemas.ts'
import {
  changeStatus,
  createPurchase,
  expirePending,
  listPurchases,
  removePurchase,
  showPurchase,
} from '../src/service.ts'
import type { Status } from '../src/status.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const START = Date.UTC(2026, 10, 21)

const callerWith = (id: string, ...scopes: string[]): Caller => ({
  id,
  kind: 'user',
  has: (scope) => scopes.includes(scope) || scopes.includes('admin'),
})
const ann = callerWith('user:ann')
const manager = callerWith('user:manager', 'purchase:manage')

/** audit.test.ts tests the audit trail. */
const audit: Audit = function* () {}

/** The service on a database of its own. */
async function purchasesOf(t: Test) {
  const { database } = await purchaseHost(t, { rehearse: false })
  const create = (now = START, caller = ann) =>
    database.transaction(() => createPurchase(caller, { items: [{ product: 'tea', quantity: 1 }] }, {}, now))
  return {
    create,
    /** One after the other. */
    async createMany(count: number) {
      const made: Awaited<ReturnType<typeof create>>[] = []
      while (made.length < count) made.push(await create())
      return made
    },
    show: (id: string, caller = ann) => database.snapshot(() => showPurchase(caller, id)),
    change: (id: string, status: Status, now = START, caller = manager) =>
      database.transaction(() => changeStatus(caller, id, status, audit, undefined, now)),
    remove: (id: string, caller = ann) => database.transaction(() => removePurchase(caller, id, audit)),
    expire: (before: number, now: number) =>
      database.transaction(() => expirePending(before, audit, undefined, now)),
    list: (caller: Caller, query: Partial<PurchaseQuery>) =>
      database.snapshot(() => listPurchases(caller, { page: 1, rpp: 100, ...query })) as Promise<
        Page<PurchaseSummary>
      >,
  }
}

testOnEngines('version and updatedAt change with the status, createdAt stays', async (t) => {
  const purchases = await purchasesOf(t)
  const created = await purchases.create(START)
  const changed = await purchases.change(created.id, 'confirmed', START + 5)
  t.match(changed, { ...created, status: 'confirmed', version: 2, updatedAt: timestamp(START + 5) })
  t.same(await purchases.show(created.id, manager), changed)
})

testOnEngines('only pending purchases that are old enough expire', async (t) => {
  const purchases = await purchasesOf(t)
  const confirmed = await purchases.create(START)
  await purchases.change(confirmed.id, 'confirmed')
  const old = await purchases.create(START)
  const deleted = await purchases.create(START)
  await purchases.remove(deleted.id)
  const young = await purchases.create(START + 10)

  t.notOk(await purchases.expire(START + 10, START + 20))
  t.match(await purchases.show(old.id), { status: 'expired', version: 2, updatedAt: timestamp(START + 20) })
  t.match(await purchases.show(confirmed.id), { status: 'confirmed', version: 2 })
  t.match(await purchases.show(young.id), { status: 'pending', version: 1 })
  t.equal((await purchases.list(manager, { owner: '*', status: 'expired' })).total, 1)
})

testOnEngines('many purchases expire in several runs', async (t) => {
  const purchases = await purchasesOf(t)
  await Promise.all(Array.from({ length: 75 }, () => purchases.create(START)))
  t.ok(await purchases.expire(START + 1, START + 1), 'there may be more')
  t.notOk(await purchases.expire(START + 1, START + 1))
  t.equal((await purchases.list(ann, { status: 'expired' })).total, 75)
})

testOnEngines("everyone's list is exact after creations, changes and deletions", async (t) => {
  const purchases = await purchasesOf(t)
  const made = await purchases.createMany(140)
  const ids = made.map(({ id }) => id)
  for (const id of ids.slice(0, 6)) await purchases.change(id, 'confirmed')
  for (const id of ids.slice(0, 3)) await purchases.change(id, 'completed')
  for (const id of ids.slice(3, 5)) await purchases.change(id, 'cancelled')
  await purchases.remove(ids[4] as string)
  for (const id of ids.slice(10, 135)) await purchases.remove(id)
  const listed = async (status?: string) => {
    const { data, total } = await purchases.list(manager, { owner: '*', ...(status && { status }) })
    t.equal(total, data.length)
    return data.map((purchase) => ids.indexOf(purchase.id))
  }
  const pending = [139, 138, 137, 136, 135, 9, 8, 7, 6]
  t.same(await listed('completed'), [2, 1, 0])
  t.same(await listed('confirmed'), [5])
  t.same(await listed('cancelled'), [3])
  t.same(await listed('pending'), pending)
  t.same(await listed('cancelled,confirmed'), [5, 3])
  t.same(await listed(), [...pending, 5, 3, 2, 1, 0])
})

testOnEngines("a caller's list equals everyone's if one caller made everything", async (t) => {
  const purchases = await purchasesOf(t)
  const made = await purchases.createMany(140)
  for (const { id } of made.slice(40, 90)) await purchases.change(id, 'confirmed')
  const reader = callerWith(ann.id, 'purchase:read')
  for (const status of [undefined, 'pending', 'confirmed,pending', 'completed']) {
    for (const page of [1, 2, 7, 14, 15]) {
      const query = { page, rpp: 10, ...(status && { status }) }
      const own = await purchases.list(reader, query)
      const all = await purchases.list(reader, { ...query, owner: '*' })
      t.same(all.data, own.data)
      t.equal(all.total, own.total)
    }
  }
})

for (const query of [{}, { owner: '*' }]) {
  testOnEngines(
    `a walk continues after its first purchase is deleted ${JSON.stringify(query)}`,
    async (t) => {
      const purchases = await purchasesOf(t)
      const reader = callerWith(ann.id, 'purchase:read')
      const [first, second, newest] = [
        await purchases.create(),
        await purchases.create(),
        await purchases.create(),
      ]
      const { until } = await purchases.list(reader, query)
      await purchases.remove(newest.id)
      await purchases.create()
      const { data, total } = await purchases.list(reader, { ...query, ...(until && { until }) })
      t.same(
        data.map(({ id }) => id),
        [second.id, first.id],
      )
      t.equal(total, 2)
    },
  )
}

testOnEngines('`until` of a walk reveals nothing about the purchases of others', async (t) => {
  const purchases = await purchasesOf(t)
  const { id } = await purchases.create()
  t.equal((await purchases.list(ann, {})).until, id, "it is the id of one's own newest purchase")
  const other = callerWith('user:other')
  await t.rejects(purchases.list(other, { until: id }), { code: 'invalid-request' })
  await t.rejects(purchases.list(ann, { until: 'purchase_01kahr3v8ze5x9g2w0m4c7t6ys' }), {
    code: 'invalid-request',
    members: { errors: [{ parameter: 'until' }] },
  })
})
