import { hostWith, timeRequests } from './in-process.ts'

/** What page 1 of a search takes among 100,000 products ÷ among 1,000, on SQLite: prints the ratio of each. */

const [FEW, MANY] = [1_000, 100_000]
const kinds = ['Espresso', 'Filter', 'Decaf', 'Instant']

const productOf = (index: number) => ({
  id: `sku-${String(index).padStart(6, '0')}`,
  name: `${kinds[index % kinds.length]} beans`,
  attributes: { roast: index % 2 === 0 ? 'dark' : 'light', lot: String(Math.floor(index / 10)) },
  group: `group-${Math.floor(index / 5)}`,
  price: { amount: (index * 7919) % 10_000, currency: 'EUR' },
})

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

const { host, close } = await hostWith('@mortise/api-product')
const guest = host.guest()
const manager = host.user('manager', 'product:manage')

/** Creates the products from one number up to another. */
async function fill(from: number, to: number): Promise<void> {
  for (let index = from; index < to; index += 1) {
    const created = await manager.post('/product', productOf(index))
    if (created.statusCode !== 201) throw new Error(created.body)
  }
}

const paths = searches.map((query) => `/product?${query}`)
const measured = () => timeRequests(guest, paths)

await fill(0, FEW)
await measured()
const few = await measured()
await fill(FEW, MANY)
const many = await measured()
for (const [index, query] of searches.entries())
  console.log(`${((many[index] as number) / (few[index] as number)).toFixed(2)}  ${query}`)
await close()
