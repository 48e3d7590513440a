import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { byEngine, identifier, many, sql } from '@mortise/module-sdk'
import { createTestHost, onEngines, type TestHost } from '@mortise/module-testkit'
import { type Test, test } from 'tap'

const folderOf = (name: string) => dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
const modules = ['@mortise/api-cart', '@mortise/api-purchase'].map((name) => ({ directory: folderOf(name) }))

/** A hash of every row of every table, but for the counts that api-purchase folds in the background. */
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
      if (name.startsWith('purchase_rank')) continue
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

onEngines<Test>(test)('no GET writes anything, whoever asks and whatever it answers', async (t) => {
  const host = await createTestHost(t, { modules, rehearse: false })
  const callers = {
    user: host.user('ann'),
    clerk: host.user('clerk', 'admin'),
    guest: host.guest(),
    somebody: host.guest(),
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
  t.same([...statuses].sort(), [200, 304, 404])
  t.equal(await hashOf(host), before)
  await callers.user.post('/cart/item', { product: 'tea', quantity: 1 })
  t.not(await hashOf(host), before, 'a write shows')
})
