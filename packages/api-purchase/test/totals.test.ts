import { join, sql } from '@mortise/module-sdk'
import type { TestCaller } from '@mortise/module-testkit'
import { fillPurchases } from './fill-purchases.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

testOnEngines('the list of an owner with many purchases is exact while they change', async (t) => {
  const { user, guest, database } = await purchaseHost(t, { rehearse: false })
  const ann = user('ann')
  const visitor = guest()
  const clerk = user('clerk', 'purchase:manage admin')
  const buy = async (caller: TestCaller) => {
    const bought = await caller.post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
    t.equal(bought.statusCode, 201)
    return bought.json().id as string
  }
  const id = await buy(ann)
  const { owner } = await database.one<{ owner: string }>(sql`SELECT owner FROM purchase WHERE id = ${id}`)
  const { last } = await database.one<{ last: number }>(sql`SELECT max(seq) AS last FROM purchase`)
  await database.transaction(() =>
    fillPurchases({
      last,
      count: 1200,
      id: sql`'old_' || n`,
      owner: sql`CAST(${owner} AS TEXT)`,
      status: sql`'pending'`,
    }),
  )
  await buy(visitor)
  await Promise.all(Array.from({ length: 9 }, () => buy(visitor)))

  const change = async (index: number) => {
    const old = `/purchase/old_${index * 13 + 1}`
    const changed = await (index % 3 === 0 ? clerk.delete(old) : ann.patch(old, { status: 'cancelled' }))
    t.equal(changed.statusCode, 200)
  }
  await Promise.all([
    ...Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? buy(ann) : change(index))),
    ann.claim(visitor),
  ])

  const isExact = async (when: string) => {
    for (const status of ['pending', 'cancelled', 'pending,cancelled', 'expired']) {
      const list = `/purchase?rpp=100&status=${status}`
      const { total, pages } = (await ann.get(list)).json()
      const ids: string[] = []
      for (let page = 1; page <= pages; page += 1) {
        const { data } = (await ann.get(`${list}&page=${page}`)).json()
        ids.push(...data.map((purchase: { id: string }) => purchase.id))
      }
      const rows = await database.many<{ id: string }>(sql`
        SELECT id FROM purchase WHERE owner = ${owner} AND deleted_at IS NULL
          AND status IN (${join(status.split(',').map((one) => sql`${one}`))}) ORDER BY seq DESC`)
      t.equal(total, rows.length, `${status} ${when}`)
      t.same(
        ids,
        rows.map((row) => row.id),
        `${status} ${when}`,
      )
    }
  }
  await isExact('after changes side by side')
  await Promise.all([change(70), change(71), buy(ann)])
  await isExact('after further ones')
})
