import { deepEqual, ok } from 'node:assert/strict'
import type { Audit, Caller } from '@mortise/module-sdk'
import type { TestHost } from '@mortise/module-testkit'
import fc from 'fast-check'
import type { PurchaseQuery } from '../src/schemas.ts'
import {
  changeStatus,
  claimPurchases,
  createPurchase,
  listPurchases,
  removePurchase,
} from '../src/service.ts'
import type { Status } from '../src/status.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

/** A caller, by number. */
const [USER, GUEST] = [0, 1] as const
const owner = fc.constantFrom(USER, GUEST, 2)
const status = fc.constantFrom<Status>('confirmed', 'cancelled')
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create' as const), owner }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('change' as const), index: fc.nat(), status }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), index: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete last met' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('claim' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const walk = fc.record({
  /** Whose purchases there are at first, the oldest first. */
  owners: fc.array(owner, { minLength: 4, maxLength: 24 }),
  /** What happens before the first page, and after each. */
  turns: fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 }),
  rpp: fc.integer({ min: 1, max: 4 }),
  /** Whose list: the user's own, or as a reader that of the user, of the guest, or everyone's. */
  list: fc.constantFrom('own', USER, GUEST, '*'),
  statuses: fc.option(fc.uniqueArray(fc.constantFrom<Status>('pending', 'confirmed'), { minLength: 1 })),
})
type Walk = typeof walk extends fc.Arbitrary<infer Value> ? Value : never

const callerWith = (id: string, ...scopes: string[]): Caller => ({
  id,
  kind: 'user',
  has: (scope) => scopes.includes(scope) || scopes.includes('admin'),
})
const ids = ['user:ann', 'guest:1', 'user:other'] as const
const admin = callerWith('user:admin', 'admin')
const items = [{ product: 'tea', quantity: 1 }]
/** audit.test.ts tests the audit trail. */
const audit: Audit = function* () {}

/** Purchases, and a model of them. */
function purchasesOf({ database }: TestHost) {
  const model = new Map<string, { owner: string; status: Status }>()
  return {
    model,
    async create(owner: number) {
      const caller = callerWith(ids[owner] as string)
      const { id } = await database.transaction(() => createPurchase(caller, { items }, {}))
      model.set(id, { owner: caller.id, status: 'pending' })
    },
    async change(id: string, status: Status) {
      const purchase = model.get(id)
      if (purchase === undefined || purchase.status === 'cancelled' || purchase.status === status) return
      await database.transaction(() => changeStatus(admin, id, status, audit))
      purchase.status = status
    },
    async remove(id: string) {
      if (model.get(id)?.status === 'confirmed') await this.change(id, 'cancelled')
      if (model.delete(id)) await database.transaction(() => removePurchase(admin, id, audit))
    },
    async claim() {
      await database.transaction(() => claimPurchases({ guest: ids[GUEST], user: ids[USER] }))
      for (const purchase of model.values()) if (purchase.owner === ids[GUEST]) purchase.owner = ids[USER]
    },
    /** A page, or the purchases after the last one. */
    read: (reader: Caller, query: PurchaseQuery, after: string | undefined) =>
      database.snapshot(function* () {
        const page = yield* listPurchases(reader, { ...query, ...(after && { after }) })
        return { data: page.data, more: 'more' in page ? page.more : page.total > page.data.length }
      }),
  }
}

async function tryWalk(host: TestHost, { owners, turns, rpp, list, statuses }: Walk) {
  const purchases = purchasesOf(host)
  const { model } = purchases
  const met: string[] = []
  const listed = list === 'own' ? ids[USER] : typeof list === 'number' ? (ids[list] as string) : list
  const reader = callerWith(ids[USER], ...(list === 'own' ? [] : ['purchase:read']))
  const query: PurchaseQuery = {
    page: 1,
    rpp,
    ...(statuses && { status: statuses.join(',') }),
    ...(list !== 'own' && { owner: listed }),
  }
  const matches = (id: string) => {
    const purchase = model.get(id)
    if (!purchase) return false
    return [purchase.owner, '*'].includes(listed) && (statuses ?? [purchase.status]).includes(purchase.status)
  }
  const take = async (one: Step) => {
    if (one.kind === 'create') return purchases.create(one.owner)
    if (one.kind === 'claim') return purchases.claim()
    const id =
      one.kind === 'delete last met' ? met.at(-1) : [...model.keys()][one.index % Math.max(model.size, 1)]
    if (id === undefined) return
    return one.kind === 'change' ? purchases.change(id, one.status) : purchases.remove(id)
  }

  for (const owner of owners) await purchases.create(owner)
  for (const one of turns[0] ?? []) await take(one)
  let throughout = [...model.keys()].filter(matches)
  for (let turn = 1, more = true; more; turn++) {
    const response = await purchases.read(reader, query, met.at(-1))
    for (const { id } of response.data) {
      ok(matches(id), `${id} matches`)
      ok(!met.includes(id), `${id} is met once`)
      met.push(id)
    }
    more = response.more
    for (const one of more ? (turns[turn] ?? []) : []) {
      await take(one)
      throughout = throughout.filter(matches)
    }
  }
  deepEqual(
    met.filter((id) => throughout.includes(id)),
    throughout.reverse(),
  )
  for (const id of [...model.keys()]) await purchases.remove(id)
}

testOnEngines(
  'a walk by cursor has each purchase that matches throughout exactly once, whatever happens between pages',
  async (t) => {
    const host = await purchaseHost(t, { rehearse: false })
    await fc.assert(
      fc.asyncProperty(walk, (walked) => tryWalk(host, walked)),
      { numRuns: fc.readConfigureGlobal().numRuns ?? 15 },
    )
  },
)
