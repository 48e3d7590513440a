import type { Event, EventLog } from '@mortise/module-sdk'
import t from 'tap'
import { newest } from '../src/event-routes.ts'
import { consoleHost, moduleIn, signedIn } from './console-host.ts'

const shop = { modules: [moduleIn('api-cart'), moduleIn('api-purchase')] }

t.test('the newest events come first, page by page, each once', async (t) => {
  const host = await consoleHost(t, shop)
  const ann = host.user('ann')
  for (let made = 0; made < 5; made++) await ann.post('/cart/item', { product: `tea ${made}`, quantity: 1 })
  await ann.post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
  const browser = await signedIn(host)
  const first = (await browser.get('/console/event?limit=4')).json()
  t.equal(first.data.length, 4)
  t.match(first.data[0], { specversion: '1.0', type: 'purchase.created', source: '/api-purchase' })
  const second = (await browser.get(`/console/event?limit=4&before=${first.before}`)).json()
  t.equal(second.data.length, 2)
  t.equal(second.before, null)
  const ids = [...first.data, ...second.data].map(({ id }: { id: string }) => id)
  t.equal(new Set(ids).size, 6)
  const carts = (await browser.get('/console/event?types=cart.item-added')).json()
  t.equal(carts.data.length, 5)
  const { subject } = first.data[0]
  t.equal((await browser.get(`/console/event?subject=${subject}`)).json().data.length, 1)
})

t.test('without a scope for all events a session has those of its user', async (t) => {
  const host = await consoleHost(t, shop)
  for (const name of ['ann', 'bob']) await host.user(name).post('/cart/item', { product: name, quantity: 1 })
  const scopes = { 'operator:read': 1, 'operator:read event:read': 2 }
  for (const [scope, count] of Object.entries(scopes)) {
    const browser = await signedIn(host, 'bob', scope)
    t.equal((await browser.get('/console/event')).json().data.length, count, scope)
  }
  t.equal((await host.app.inject('/console/event')).statusCode, 401)
})

t.test('a rare type in a long log is found in parts, and the log may have gaps', async (t) => {
  const positions = Array.from({ length: 50_000 }, (_, index) => index + 1).filter((at) => at % 7 !== 0)
  const reads: number[] = []
  const log: Pick<EventLog, 'last' | 'read'> = {
    last: async () => 49_999,
    read: async ({ after, limit, types }) => {
      reads.push(after)
      const start = positions.findIndex((position) => position > after)
      const events = start < 0 ? [] : positions.slice(start, start + limit)
      return {
        events: events
          .filter((position) => types === undefined || position === 10)
          .map((position) => ({ position }) as Event),
        next: undefined,
      }
    },
  }
  const all = await newest(log as EventLog, {}, 10)
  t.same(
    all.data.map(({ position }) => position),
    [49_999, 49_998, 49_997, 49_996, 49_995, 49_993, 49_992, 49_991, 49_990, 49_989],
  )
  let before: number | null | undefined
  const found: number[] = []
  for (let page = 0; before !== null; page++) {
    t.ok(page < 5, 'it comes to an end')
    const next = await newest(log as EventLog, { types: ['rare.one'] }, 10, before ?? undefined)
    found.push(...next.data.map(({ position }) => position))
    before = next.before
  }
  t.same(found, [10])
})
