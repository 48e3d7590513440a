import { once } from 'node:events'
import { Agent, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { Caller } from '../../src/harness/caller.ts'
import { Random } from '../../src/harness/random.ts'
import { type Habits, Shopper } from '../../src/harness/shopper.ts'

/** Takes purchases by key and additions, and can lose or double them, as a broken host would. */
class Shop {
  readonly responses = new Map<string, string>()
  made = 0
  purchases: string[] = []
  readonly cart = new Map<string, number>()
  /** The outcome of the next writes: done, done without a response, or not done. */
  next: 'done' | 'silent' | 'refused' = 'done'
  readonly server = createServer(async (request, response) => {
    if (request.url?.startsWith('/purchase?'))
      return response.end(JSON.stringify({ data: this.purchases.map((id) => ({ id })) }))
    if (request.url === '/cart') {
      const items = Array.from(this.cart, ([product, quantity]) => ({ product, quantity }))
      return response.end(JSON.stringify({ items }))
    }
    if (this.next === 'refused') return response.writeHead(503).end('{"code":"busy"}')
    const body = (await json(request)) as { product?: string }
    const key = request.headers['idempotency-key'] as string | undefined
    const known = key === undefined ? undefined : this.responses.get(key)
    const text = known ?? JSON.stringify({ id: `purchase-${this.made++}` })
    if (body.product !== undefined) this.cart.set(body.product, (this.cart.get(body.product) ?? 0) + 1)
    else if (known === undefined) this.purchases.push(JSON.parse(text).id)
    if (key !== undefined) this.responses.set(key, text)
    if (this.next === 'silent') return response.destroy()
    response.writeHead(201, known === undefined ? {} : { 'idempotent-replayed': 'true' }).end(text)
  })
}

async function shopAndShopper(t: Test, habits: Habits = {}) {
  const shop = new Shop()
  shop.server.listen(0, '127.0.0.1')
  await once(shop.server, 'listening')
  const url = `http://127.0.0.1:${(shop.server.address() as AddressInfo).port}`
  const agent = new Agent({ keepAlive: true })
  const shopper = new Shopper(new Caller(agent, () => url), new Random(1), { most: 3, ...habits })
  t.teardown(() => {
    agent.destroy()
    shop.server.close()
  })
  const shopping = async () => {
    shopper.start()
    await shopper.finished()
  }
  await shopping()
  return { shop, shopper, shopping }
}

const adds: Habits = { does: [[1, 'addition']], ifBroken: 'continue' }

t.test('nothing is reported where every write is there once', async (t) => {
  t.same(await (await shopAndShopper(t)).shopper.check(), [])
  t.same(await (await shopAndShopper(t, adds)).shopper.check(), [])
})

t.test('a lost purchase is reported', async (t) => {
  const { shop, shopper } = await shopAndShopper(t)
  const [key = ''] = shop.responses.keys()
  shop.responses.delete(key)
  shop.purchases.shift()
  t.match(await shopper.check(), [`${key} was acknowledged and is lost`, 'the purchase purchase-0 is lost'])
})

t.test('a response that differs is reported', async (t) => {
  const { shop, shopper } = await shopAndShopper(t)
  const [key = ''] = shop.responses.keys()
  shop.responses.set(key, '{"id":"another"}')
  t.match(await shopper.check(), [`${key} gets another response than before`])
})

t.test('doubled purchases and additions are reported', async (t) => {
  const { shop, shopper } = await shopAndShopper(t)
  shop.purchases.push('purchase-1', 'purchase-9')
  t.same(await shopper.check(), ['1 purchases are listed twice', 'there are 1 purchases that were not made'])
  const other = await shopAndShopper(t, adds)
  const [product = ''] = other.shop.cart.keys()
  other.shop.cart.set(product, 4)
  t.same(await other.shopper.check(), [`a cart has 1 more of ${product} than were acknowledged`])
})

t.test('a rejected write that has happened is reported', async (t) => {
  const { shop, shopper, shopping } = await shopAndShopper(t)
  shop.next = 'refused'
  await shopping()
  t.equal(shopper.denied, 3)
  shop.next = 'done'
  t.same(await shopper.check(), [])
  const other = await shopAndShopper(t, adds)
  other.shop.next = 'refused'
  await other.shopping()
  const [product = ''] = other.shop.cart.keys()
  other.shop.cart.set(product, 4)
  t.equal((await other.shopper.check()).length, 1)
})

t.test('a write without a response is there once or not at all', async (t) => {
  const { shop, shopper, shopping } = await shopAndShopper(t, adds)
  shop.next = 'silent'
  await shopping()
  t.equal(shopper.count('unknown'), 3)
  const [, product = ''] = shop.cart.keys()
  shop.cart.delete(product)
  t.same(await shopper.check(), [])
  const [first = ''] = shop.cart.keys()
  shop.cart.set(first, (shop.cart.get(first) ?? 0) + 1)
  t.same(await shopper.check(), [`a cart has 1 more of ${first} than were acknowledged`])
})
