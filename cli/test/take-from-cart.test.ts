import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { runningHost } from './running-host.ts'
import { testOnEngines } from './test-on-engines.ts'

/** The next version of the cart, in a folder of its own. */
async function nextCart(root: string): Promise<string> {
  const source = fileURLToPath(new URL('../../packages/api-cart/', import.meta.url))
  const folder = join(root, 'next-cart')
  for (const part of ['package.json', 'dist', 'migrations']) {
    await cp(join(source, part), join(folder, part), { recursive: true })
  }
  const file = join(folder, 'package.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), version: '1.0.1' }))
  return folder
}

/** A running host, and someone signed in. */
async function shop(t: Test, directory: string, token: string) {
  const { url } = await runningHost(t, directory)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
    return { status: response.status, body: (await response.json()) as any }
  }
  return {
    fill: (quantity: number) => post('/cart/item', { product: 'tea', quantity }),
    purchase: () => post('/purchase', { items: [{ product: 'tea', quantity: 1 }], takeFromCart: true }),
    inCart: async () =>
      ((await (await fetch(`${url}/cart`, { headers })).json()) as { totalQuantity: number }).totalQuantity,
  }
}

testOnEngines(
  'purchases take from the cart, whichever module was installed first',
  async (t, application) => {
    const { directory, run } = application
    const { fill, purchase, inCart } = await shop(t, directory, (await run('token', 'ann')).json.token)
    const change = async (...argv: string[]) =>
      t.match(await run(...argv), { exitCode: 0, json: { live: true } })
    const unavailable = { status: 422, body: { code: 'cart-unavailable' } }

    await change('module-install', 'api-purchase')
    t.match(await purchase(), unavailable)
    await change('module-install', 'api-cart')
    t.match(await purchase(), { status: 409, body: { code: 'cart-changed' } })
    t.match(await fill(5), { status: 201 })
    t.match(await purchase(), { status: 201 })
    await change('module-disable', 'api-cart')
    t.match(await purchase(), unavailable)
    await change('module-enable', 'api-cart')
    t.match(await purchase(), { status: 201 })
    await change('module-remove', 'api-cart')
    t.match(await purchase(), unavailable)
    await change('module-remove', 'api-purchase')
    t.match(await purchase(), { status: 404 })
    await change('module-install', 'api-cart')
    t.equal(await inCart(), 3)
    await change('module-install', 'api-purchase')
    t.match(await purchase(), { status: 201 })
    t.equal(await inCart(), 2)
  },
)

testOnEngines('the cart can be upgraded during purchases, and none fails', async (t, application) => {
  const { directory, root, run } = application
  t.match(await run('module-install', 'api-cart', 'api-purchase'), { exitCode: 0 })
  const { fill, purchase, inCart } = await shop(t, directory, (await run('token', 'ann')).json.token)
  await fill(9999)
  let upgraded = false
  let made = 0
  const failures: unknown[] = []
  const buying = Array.from({ length: 2 }, async () => {
    for (; !upgraded; await pause(5)) {
      const responded = await purchase()
      if (responded.status === 201) made += 1
      else failures.push(responded)
    }
  })
  t.match(await run('module-install', '--yes', await nextCart(root)), {
    exitCode: 0,
    json: { live: true, installed: [{ version: '1.0.1', replaces: '1.0.0' }] },
  })
  upgraded = true
  await Promise.all(buying)
  t.same(failures, [])
  t.ok(made > 0)
  t.equal(await inCart(), 9999 - made)
})
