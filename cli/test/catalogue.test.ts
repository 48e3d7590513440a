import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { runningHost } from './running-host.ts'
import { testOnEngines } from './test-on-engines.ts'

testOnEngines(
  'with a catalogue a full cart gets prices while it is used, and without it loses them',
  async (t, { directory, run }) => {
    const change = async (...argv: string[]) =>
      t.match(await run(...argv), { exitCode: 0, json: { live: true } })
    const tokenOf = async (...argv: string[]) => (await run('token', ...argv)).json.token
    const { url } = await runningHost(t, directory)
    const [ann, root] = [await tokenOf('ann'), await tokenOf('root', '--scope', 'product:manage')]
    const send = async (token: string, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
      return { status: response.status, body: (await response.json()) as any }
    }
    const tea = { product: 'tea', quantity: 2 }
    const buy = () => send(ann, 'POST', '/purchase', { items: [tea] })
    const stock = async () => (await send(ann, 'GET', '/product/tea')).body.stock

    await change('module-install', 'api-cart', 'api-purchase')
    await send(ann, 'POST', '/cart/item', tea)
    const opaque = (await send(ann, 'GET', '/cart')).body
    await change('module-install', 'api-product')
    t.match(await buy(), { status: 422, body: { code: 'unknown-product' } })
    t.match((await send(ann, 'GET', '/cart')).body.items, [{ warnings: [{ code: 'unknown-product' }] }])
    const product = {
      id: 'tea',
      name: 'Green tea',
      price: { amount: 450, currency: 'EUR' },
      stock: 1_000_000,
    }
    t.match(await send(root, 'POST', '/product', product), { status: 201 })
    t.match(await buy(), { status: 201, body: { total: { amount: 900, currency: 'EUR' } } })
    t.equal(await stock(), 999_998)
    const priced = (await send(ann, 'GET', '/cart')).body

    const ended = new AbortController()
    const failures: unknown[] = []
    const sold = { priced: 0, opaque: 0 }
    const buyers = Array.from({ length: 2 }, async () => {
      for (; !ended.signal.aborted; await pause(5)) {
        const [bought, cart] = [await buy(), await send(ann, 'GET', '/cart')]
        if (bought.status !== 201 || cart.status !== 200) failures.push(bought, cart)
        sold[bought.body.total ? 'priced' : 'opaque'] += 1
      }
    })
    await change('module-remove', 'api-product')
    t.strictSame((await send(ann, 'GET', '/cart')).body, opaque)
    t.match(await buy(), { status: 201, body: { total: null, items: [{ name: null }] } })
    t.equal((await send(ann, 'GET', '/product/tea')).status, 404)
    await change('module-install', 'api-product')
    t.strictSame((await send(ann, 'GET', '/cart')).body, priced)
    ended.abort()
    await Promise.all(buyers)
    t.strictSame(failures, [])
    t.ok(sold.priced > 0 && sold.opaque > 0)
    t.equal(await stock(), 999_998 - sold.priced * 2, 'no purchase without a price took stock')

    const form = new FormData()
    form.set('format', 'jsonl')
    // As the README of api-product loads its sample.
    const store = join(directory, '.app', 'store')
    const stored = (await readdir(store)).find((name) => name.includes('api-product')) as string
    form.set('file', new Blob([await readFile(join(store, stored, 'sample.jsonl'))]))
    const begun = await fetch(`${url}/product/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${root}` },
      body: form,
    })
    t.equal(begun.status, 202)
    const { id } = (await begun.json()) as { id: string }
    const progress = async () => (await send(root, 'GET', `/product/import/${id}`)).body
    while ((await progress()).status !== 'completed') await pause(20)
    t.match(await progress(), { products: 50, created: 49, changed: 1, errors: [] })
  },
)
