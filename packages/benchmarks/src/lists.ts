import { sql } from '@mortise/module-sdk'
import type { TestCaller } from '@mortise/module-testkit'
import { fillPurchases } from '../../api-purchase/test/fill-purchases.ts'
import { hostWith, timeRequests } from './in-process.ts'

/** What a page of 20 purchases takes of those who have 1,000,000 and 10,000,000 ÷ of who has 1,000, on SQLite. */

const LENGTHS = [1_000, 1_000_000, 10_000_000]
const AT_ONCE = 100_000

const { host, close } = await hostWith('@mortise/api-purchase')

/** Gives a caller `count` purchases, each tenth of them confirmed. @returns the paths to measure */
async function fill(caller: TestCaller, count: number): Promise<Record<string, string>> {
  const first = await caller.post('/purchase', { items: [{ product: 'tea', quantity: 1 }] })
  const { id, number } = first.json()
  const { owner } = await host.database.one<{ owner: string }>(
    sql`SELECT owner FROM purchase WHERE id = ${id}`,
  )
  for (let last = number; last < number + count; last += AT_ONCE) {
    await host.database.transaction(() =>
      fillPurchases({
        last,
        count: Math.min(AT_ONCE, number + count - last),
        id: sql`'purchase_' || (${last} + n)`,
        owner: sql`CAST(${owner} AS TEXT)`,
        status: sql`CASE WHEN n % 10 = 0 THEN 'confirmed' ELSE 'pending' END`,
      }),
    )
  }
  const middle = `purchase_${number + count / 2}`
  return {
    'page 1': '/purchase?rpp=20',
    'page 1 of a status': '/purchase?rpp=20&status=confirmed',
    'page 50': '/purchase?rpp=20&page=50',
    'after, in the middle': `/purchase?rpp=20&after=${middle}`,
    'after, of a status': `/purchase?rpp=20&status=confirmed&after=${middle}`,
  }
}

const times: number[][] = []
let names: string[] = []
for (const count of LENGTHS) {
  const caller = host.user(`buyer-${count}`)
  const paths = await fill(caller, count)
  names = Object.keys(paths)
  await timeRequests(caller, Object.values(paths))
  times.push(await timeRequests(caller, Object.values(paths)))
}
const [shortest = [], ...longer] = times
for (const [index, name] of names.entries()) {
  const ratios = longer.map((each) => ((each[index] as number) / (shortest[index] as number)).toFixed(2))
  console.log(`${name}: ${ratios.join(', ')}`)
}
await close()
