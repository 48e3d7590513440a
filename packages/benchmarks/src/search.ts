import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { join, run, type Sql, sql } from '@mortise/module-sdk'
import { createTestHost, type TestHost } from '@mortise/module-testkit'
import { termsOf } from '../../api-product/src/terms.ts'

/** What page 1 of a search takes among 100,000 products ÷ among 1,000, on SQLite: prints the ratio of each. */

const [FEW, MANY] = [1_000, 100_000]
const AT_ONCE = 500
const kinds = ['Espresso', 'Filter', 'Decaf', 'Instant']

const productOf = (index: number) => ({
  id: `sku-${String(index).padStart(6, '0')}`,
  name: `${kinds[index % kinds.length]} beans`,
  attributes: { roast: index % 2 === 0 ? 'dark' : 'light', lot: String(Math.floor(index / 10)) },
  group: `group-${Math.floor(index / 5)}`,
  prices: [{ amount: (index * 7919) % 10_000, currency: 'EUR' }],
  active: true,
  createdAt: index,
})

/** Adds the products from one number up to another. */
async function fill({ database }: TestHost, from: number, to: number): Promise<void> {
  const rows = (values: readonly Sql[]) => sql`VALUES ${join(values)}`
  for (let start = from; start < to; start += AT_ONCE) {
    const products = Array.from({ length: AT_ONCE }, (_, index) => productOf(start + index))
    await database.transaction(function* () {
      yield* run(sql`
        INSERT INTO product
          (id, name, images, attributes, group_id, prices, active, version, created_at, updated_at)
        ${rows(
          products.map(
            ({ id, name, attributes, group, prices, createdAt }) => sql`(${id}, ${name}, '[]',
          ${JSON.stringify(attributes)}, ${group}, ${JSON.stringify(prices)}, 1, 1, ${createdAt}, ${createdAt})`,
          ),
        )}`)
      const terms = products.flatMap((product) =>
        termsOf(product).map((term) => sql`(${term}, ${product.id})`),
      )
      yield* run(sql`INSERT INTO product_term (term, product) ${rows(terms)}`)
    })
  }
}

const searches = [
  'q=espresso',
  'q=beans&sort=price&currency=EUR',
  'q=sku-000777',
  'q=beans+000777',
  'q=sku-0007&sort=name',
  'q=nothing',
  'group=group-7',
  'attributes=roast:dark',
  'attributes=roast:dark,lot:7',
  'q=decaf&attributes=roast:dark',
]

const cleanUps: (() => unknown)[] = []
const directory = dirname(fileURLToPath(import.meta.resolve('@mortise/api-product/package.json')))
const host = await createTestHost(
  { teardown: (cleanUp) => void cleanUps.push(cleanUp) },
  {
    modules: [{ directory }],
    rehearse: false,
    config: { rateLimit: { max: 0, maxPerAddress: 100_000 } },
  },
)
const guest = host.guest()

/** The sixth of 25, in milliseconds. */
async function timeOf(query: string): Promise<number> {
  const taken: number[] = []
  while (taken.length < 25) {
    const start = performance.now()
    const found = await guest.get(`/product?${query}`)
    taken.push(performance.now() - start)
    if (found.statusCode !== 200) throw new Error(found.body)
  }
  return taken.sort((one, other) => one - other)[5] as number
}

async function measured(): Promise<number[]> {
  const all: number[] = []
  for (const query of searches) all.push(await timeOf(query))
  return all
}

await fill(host, 0, FEW)
await measured()
const few = await measured()
await fill(host, FEW, MANY)
const many = await measured()
for (const [index, query] of searches.entries())
  console.log(`${((many[index] as number) / (few[index] as number)).toFixed(2)}  ${query}`)
for (const cleanUp of cleanUps.reverse()) await cleanUp()
