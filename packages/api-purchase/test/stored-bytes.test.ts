import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { one, sql } from '@mortise/module-sdk'
import { createTestHost, type TestCaller } from '@mortise/module-testkit'
import { test } from 'tap'
import plugin from '../src/index.ts'
import { purchaseHost, testOnEngines } from './purchase-host.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const LONGEST = '\u{1F600}'.repeat(125)
const longest = Array.from({ length: 200 }, (_, index) => String(index).padStart(3, '0') + LONGEST)
const shortest = Array.from({ length: 200 }, (_, index) => index.toString(36))

const purchaseOf = (products: readonly string[], takeFromCart?: boolean) => ({
  items: products.map((product) => ({ product, quantity: 1 })),
  takeFromCart,
})

let keys = 0
/** As long as a key may be, and in no order. */
const newKey = () => `${String(keys++).split('').reverse().join('')}-`.padEnd(255, 'k')

const post = (caller: TestCaller, path: string, body: string) =>
  caller.post(path, body, {
    'content-type': 'application/json',
    'idempotency-key': newKey(),
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  })

/** The first number in the third column of a row of `docs/operating.md`. */
async function documented(row: string): Promise<number> {
  const page = await readFile(folder('../../../docs/operating.md'), 'utf8')
  const cells = page.split('\n').find((line) => line.startsWith(`| ${row} |`))
  return Number.parseFloat(cells?.split(' | ')[2] ?? '')
}

test('a caller stores no more than is documented', async (t) => {
  const host = await createTestHost(t, {
    rehearse: false,
    modules: [{ directory: folder('..'), plugin }, { directory: folder('../../api-cart') }],
  })
  const guest = host.guest()
  for (const product of shortest) await guest.post('/cart/item', { product, quantity: 1000 })
  const copy = join(t.testdir(), 'copy.db')
  const size = async () => {
    await rm(copy, { force: true })
    await host.database.copyTo(copy)
    return (await stat(copy)).size
  }
  const stored = async (count: number, path: string, bodyOf: (index: number) => object) => {
    const before = await size()
    for (let index = 0; index < count; index += 1)
      t.match(await post(guest, path, JSON.stringify(bodyOf(index))), { statusCode: /20[01]/ })
    return ((await size()) - before) / count
  }
  const cases = [
    ['purchase of the 200 longest products', purchaseOf(longest)],
    ['purchase of the 200 shortest products', purchaseOf(shortest)],
    ['the same with `takeFromCart`', purchaseOf(shortest, true)],
  ] as const
  for (const [row, body] of cases) {
    const times = (await stored(20, '/purchase', () => body)) / Buffer.byteLength(JSON.stringify(body))
    t.ok(times <= (await documented(row)), `${row}: ${times} times`)
  }
  const one = await stored(200, '/purchase', () => purchaseOf(['a']))
  t.ok(one <= (await documented('purchase of one product')) * 1000, `a purchase of one product: ${one}`)
  const change = await stored(200, '/cart/item', () => ({ product: '0', quantity: 1 }))
  t.ok(change <= (await documented('another quantity in a cart')) * 1000, `another quantity: ${change}`)
  await guest.delete('/cart')
  const line = await stored(200, '/cart/item', (index) => ({ product: longest[index], quantity: 1 }))
  t.ok(line <= (await documented('new line in a cart, of the longest product')) * 1000, `new line: ${line}`)
})

testOnEngines('the response to a purchase is stored once, in its event', async (t) => {
  const host = await purchaseHost(t)
  for (const caller of [host.guest(), host.user('ann'), host.user('eve', 'purchase:read')]) {
    // A key belongs to a known caller.
    await caller.post('/purchase', { items: [{ product: 'a', quantity: 1 }] })
    const key = { 'idempotency-key': newKey() }
    const first = await caller.post('/purchase', purchaseOf(longest), key)
    t.equal(first.statusCode, 201)
    const { bodies } = await host.database.transaction(() =>
      one<{ bodies: number }>(
        sql`SELECT count(*) AS bodies FROM mortise_idempotency WHERE body IS NOT NULL OR event IS NULL`,
      ),
    )
    t.equal(bodies, 0)
    const { id } = first.json()
    await caller.patch(`/purchase/${id}`, { status: 'cancelled' })
    const again = await caller.post('/purchase', purchaseOf(longest), key)
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.ok(again.rawPayload.equals(first.rawPayload))
  }
})
