import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { byEngine, identifier, many, sql } from '@mortise/module-sdk'
import { createTestHost, onEngines, type TestHost } from '@mortise/module-testkit'
import { type Test, test } from 'tap'

const folderOf = (name: string) => dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
const modules = ['@mortise/api-cart', '@mortise/api-purchase'].map((name) => ({ directory: folderOf(name) }))

/** A hash of every row of every table. */
async function hashOf({ database }: TestHost): Promise<string> {
  const hash = createHash('sha256')
  await database.snapshot(function* () {
    const tables = yield* many<{ name: string }>(
      byEngine({
        sqlite: sql`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`,
        postgres: sql`SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = current_schema() ORDER BY table_name`,
      }),
    )
    for (const { name } of tables) {
      const rows = yield* many(sql`SELECT * FROM ${identifier(name)}`)
      hash.update(
        `${name}\n${rows
          .map((row) => JSON.stringify(row))
          .sort()
          .join('\n')}\n`,
      )
    }
  })
  return hash.digest('hex')
}

onEngines<Test>(test)('no GET writes anything, for any caller and any response', async (t) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const callers = {
    user: host.user('ann'),
    clerk: host.user('clerk', 'admin'),
    guest: host.guest(),
    newcomer: host.guest(),
  }
  const key = { 'idempotency-key': 'k' }
  const ids: string[] = ['self-check', 'k']
  for (const caller of [callers.user, callers.guest]) {
    const items = [{ product: 'tea', quantity: 1 }]
    for (const [path, body] of [
      ['/cart/item', items[0]],
      ['/purchase', { items }],
    ] as const) {
      ids.push((await caller.post(path, body, key)).json().id)
    }
  }
  const document = (await host.app.inject('/openapi.json')).json()
  const paths = Object.keys(document.paths).filter((path) => document.paths[path].get)
  t.ok(paths.includes('/cart/item/{id}') && paths.includes('/idempotency/{key}'))

  // Until they are in their places, which a write has left to do.
  await host.events()
  const before = await hashOf(host)
  const statuses = new Set<number>()
  for (const path of ['/docs', '/openapi.json', '/nowhere', ...paths]) {
    const urls = path.includes('{') ? ids.map((id) => path.replace(/\{\w+\}/, id)) : [path]
    for (const url of urls) {
      for (const caller of Object.values(callers)) {
        for (const headers of [{}, key, { 'if-none-match': '*' }, { cookie: 'guest=stale' }]) {
          statuses.add((await caller.get(url, headers)).statusCode)
        }
      }
    }
  }
  t.same([...statuses].sort(), [200, 304, 400, 404], '400: a read takes no key')
  t.equal(await hashOf(host), before)
  await callers.user.post('/cart/item', { product: 'tea', quantity: 1 })
  t.not(await hashOf(host), before, 'a write shows')
})

onEngines<Test>(test)('a GET shows one moment, whatever is written meanwhile', async (t) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const [writer, reader] = [host.user('ann'), host.user('ann')]
  const items = ['tea', 'milk'].map((product) => ({ product, quantity: 1 }))
  let isWriting = true
  const write = async () => {
    for (let round = 0; round < 12; round++) {
      // As many as the cart's version, at any moment.
      const { statusCode } = await writer.post('/cart/item', { product: `product ${round}`, quantity: 1 })
      const { id } = (await writer.post('/purchase', { items })).json()
      const { statusCode: changed } = await writer.patch(`/purchase/${id}`, { status: 'cancelled' })
      if (round % 2) await writer.delete(`/purchase/${id}`)
      t.same([statusCode, changed], [201, 200])
    }
    isWriting = false
  }
  const torn: unknown[] = []
  const seen = new Set<string>()
  // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
  const read = async (path: string, isOne: (body: any) => boolean) => {
    while (isWriting) {
      const { body } = await reader.get(path)
      seen.add(body)
      if (!isOne(JSON.parse(body))) torn.push(body)
      // Writes on SQLite begin in a further turn of the event loop.
      await nextTurn()
    }
  }
  await Promise.all([
    write(),
    read(
      '/cart',
      ({ version, items, itemCount, totalQuantity }) =>
        version === items.length && version === itemCount && version === totalQuantity,
    ),
    read('/purchase?rpp=100', ({ data, total }) => data.length === total),
    read(
      '/purchase?rpp=100&status=cancelled',
      ({ data, total }) =>
        data.length === total && data.every(({ status }: { status: string }) => status === 'cancelled'),
    ),
    read(
      '/purchase?rpp=1',
      ({ total, pages, data }) => pages === total && data.length === Math.min(total, 1),
    ),
  ])
  t.same(torn, [])
  t.ok(seen.size > 12, `${seen.size} different responses`)
})
