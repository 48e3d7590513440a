import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Buyers } from '../../src/harness/buyers.ts'

/** Takes purchases by key, and can lose or double one, as a broken host would. */
class Shop {
  readonly responses = new Map<string, string>()
  extra = 0
  readonly server = createServer((request, response) => {
    const key = request.headers['idempotency-key'] as string | undefined
    if (key === undefined) return response.end(JSON.stringify({ total: this.responses.size + this.extra }))
    const known = this.responses.get(key)
    const body = known ?? `purchase ${this.responses.size}`
    this.responses.set(key, body)
    const replayed = known === undefined ? {} : { 'idempotent-replayed': 'true' }
    response.writeHead(201, replayed).end(body)
  })
}

async function shopAndBuyers(t: Test) {
  const shop = new Shop()
  shop.server.listen(0, '127.0.0.1')
  await once(shop.server, 'listening')
  const url = `http://127.0.0.1:${(shop.server.address() as AddressInfo).port}`
  const buyers = new Buyers(['a token'])
  t.teardown(() => {
    buyers.close()
    shop.server.close()
  })
  buyers.start(url)
  while (buyers.acknowledged < 3) await new Promise((resolve) => setImmediate(resolve))
  await buyers.stop()
  return { shop, buyers, url }
}

t.test('nothing is reported where every purchase is there once', async (t) => {
  const { buyers, url } = await shopAndBuyers(t)
  t.same(await buyers.check(url), [])
})

t.test('a lost purchase is reported', async (t) => {
  const { shop, buyers, url } = await shopAndBuyers(t)
  shop.responses.delete('key-1')
  t.match(await buyers.check(url), ['key-1 was acknowledged and is lost'])
})

t.test('a response that differs is reported', async (t) => {
  const { shop, buyers, url } = await shopAndBuyers(t)
  shop.responses.set('key-1', 'another purchase')
  t.same(await buyers.check(url), ['key-1 gets another response than before'])
})

t.test('a doubled purchase is reported', async (t) => {
  const { shop, buyers, url } = await shopAndBuyers(t)
  shop.extra = 1
  t.match((await buyers.check(url))[0], /there are \d+ purchases for \d+ keys of one user/)
})
