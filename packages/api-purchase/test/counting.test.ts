import { sql } from '@mortise/module-sdk'
import { ranked } from '../src/repository.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

testOnEngines(
  'totals are exact and no changes are left over after concurrent creations and folds',
  async (t) => {
    const { user, database } = await purchaseHost(t, { rehearse: false })
    const fold = () => ranked.fold(database)
    const manager = user('manager', 'purchase:manage')
    const create = (subject: string) =>
      user(subject).post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
    const listed = async (status: string) =>
      (await manager.get(`/purchase?owner=*&status=${status}`)).json().total

    const created = await Promise.all(
      Array.from({ length: 80 }, async (_, index) => {
        if (index % 20 === 19) await fold()
        return create(`user ${index % 16}`)
      }),
    )
    t.equal(await listed('pending'), 80)
    const ids = created.map((response) => response.json().id)
    const cancel = (id: string) => manager.patch(`/purchase/${id}`, { status: 'cancelled' })
    await Promise.all(ids.slice(0, 10).map(cancel))
    t.equal(await listed('pending'), 70, 'before they are folded')
    await Promise.all([fold(), fold()])
    t.equal(await listed('pending'), 70)
    t.equal(await listed('cancelled'), 10)
    const counts = sql`SELECT list, CAST(sum(count) AS BIGINT) AS n FROM purchase_rank WHERE level = 3 GROUP BY list ORDER BY n`
    t.strictSame(await database.many(counts), [
      { list: 'cancelled', n: 10 },
      { list: 'pending', n: 70 },
    ])
  },
)
