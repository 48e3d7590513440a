import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openStorage } from '@mortise/host'
import { one, sql } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { startApp } from './run-process.ts'
import { databaseUrl, testOnEngines } from './test-on-engines.ts'

const PRODUCTS = 6_000
/** The host is killed when so many products are stored, or some more. */
const MOMENTS = [0, 300, 1_500]
const address = /http:\/\/127\.0\.0\.1:\d+/

const price = { amount: 450, currency: 'EUR' }
const ids = Array.from({ length: PRODUCTS }, (_, index) => `p-${index}`)
/** Products that the file changes. */
const known = ids.filter((_, index) => index % 50 === 0)
const files = {
  jsonl: ids.map((id) => JSON.stringify({ id, name: `new ${id}`, price })).join('\n'),
  csv: ['id,name,price,currency', ...ids.map((id) => `${id},new ${id},450,EUR`)].join('\n'),
}

const stored = sql`
  SELECT done, created, changed,
    (SELECT count(*) FROM product WHERE name LIKE 'new %') AS products,
    (SELECT count(*) FROM product_term WHERE term = 'word:new') AS found,
    (SELECT max(version) FROM product) AS version,
    (SELECT count(*) FROM mortise_event) + (SELECT count(*) FROM mortise_event_new) AS events
  FROM product_import`
type Stored = Record<'done' | 'created' | 'changed' | 'products' | 'found' | 'version' | 'events', number>

/** What the database has, of a host that is down. */
async function look(place: { file: string } | { url: string }): Promise<Stored> {
  const storage = await openStorage({ ...place, onFatal: () => {} })
  try {
    return await storage.snapshot(() => one<Stored>(stored))
  } finally {
    await storage.close()
  }
}

async function start(t: Test, directory: string) {
  const host = startApp(t, ['start', '--port', '0', '--dir', directory])
  await host.says(address)
  const [url] = address.exec(host.stdout + host.stderr) as unknown as [string]
  return { ...host, url }
}

for (const [format, file] of Object.entries(files)) {
  testOnEngines(
    `an import of ${format} is stored once, however often the host is killed`,
    async (t, application) => {
      const { directory, run } = application
      t.equal((await run('module-install', 'api-product')).exitCode, 0)
      const { token } = (await run('token', 'root', '--scope', 'product:manage')).json
      const url = await databaseUrl(directory)
      const place = url === undefined ? { file: join(directory, 'data', 'app.db') } : { url }
      let host = await start(t, directory)
      const ask = async (path: string, body?: FormData | string) => {
        const type = typeof body === 'string' && { 'content-type': 'application/json' }
        const headers = { authorization: `Bearer ${token}`, ...type }
        const response = await fetch(host.url + path, { headers, ...(body && { method: 'POST', body }) })
        if (!response.ok) throw new Error(await response.text())
        return (await response.json()) as { id: string; done: number; status: string }
      }
      const begin = async (): Promise<string> => {
        const form = new FormData()
        form.set('file', new Blob([file]), `products.${format}`)
        form.set('format', format)
        return (await ask('/product/import', form)).id
      }
      const until = async (id: string, isReached: (shown: Awaited<ReturnType<typeof ask>>) => boolean) => {
        for (;;) {
          const shown = await ask(`/product/import/${id}`)
          if (isReached(shown)) return shown
          await pause(5)
        }
      }

      for (const id of known) await ask('/product', JSON.stringify({ id, name: 'old', price }))
      const id = await begin()
      for (const moment of MOMENTS) {
        await until(id, ({ done }) => done >= moment)
        host.child.kill('SIGKILL')
        t.equal(await host.ended, 'SIGKILL')
        const { done, created, changed, ...rest } = await look(place)
        t.ok(done >= moment && done < PRODUCTS, `killed with ${done} products`)
        const changes = known.filter((one) => ids.indexOf(one) < done).length
        t.strictSame({ created, changed }, { created: done - changes, changed: changes })
        const version = done > 0 ? 2 : 1
        t.strictSame(rest, { products: done, found: done, version, events: known.length + done })
        host = await start(t, directory)
      }
      const isOver = ({ status }: { status: string }) => status === 'completed'
      const counts = { done: PRODUCTS, created: PRODUCTS - known.length, changed: known.length }
      t.match(await until(id, isOver), counts)
      t.match(await until(await begin(), isOver), { done: PRODUCTS, created: 0, changed: 0 })
    },
  )
}
