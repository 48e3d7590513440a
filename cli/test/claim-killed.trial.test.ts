import type { Test } from 'tap'
import { startApp } from './run-process.ts'
import { testOnEngines } from './test-on-engines.ts'

const SHOPPERS = 8
const address = /http:\/\/127\.0\.0\.1:\d+/

async function start(t: Test, directory: string) {
  const host = startApp(t, ['start', '--port', '0', '--dir', directory])
  await host.says(address)
  const [url] = address.exec(host.stdout + host.stderr) as unknown as [string]
  return { ...host, url }
}

/** Someone with lines in their cart as a guest, who signs in. */
class Shopper {
  readonly #guest: Record<string, string>
  readonly #user: Record<string, string>
  /** Products that were sent, 2 of each, and which are in the cart, as the host has said. */
  readonly sent = new Set<string>()
  readonly acknowledged = new Set<string>()

  constructor(guest: string, user: string) {
    this.#guest = { 'guest-token': guest }
    this.#user = { authorization: `Bearer ${user}` }
  }

  async add(url: string, product: string): Promise<void> {
    this.sent.add(product)
    const headers = { ...this.#guest, 'content-type': 'application/json' }
    const body = JSON.stringify({ product, quantity: 2 })
    const { status } = await fetch(`${url}/cart/item`, { method: 'POST', headers, body })
    if (status === 201) this.acknowledged.add(product)
    else if (status !== 401) throw new Error(`an addition got ${status}`)
  }

  async claim(url: string): Promise<number> {
    const headers = { ...this.#guest, ...this.#user }
    return (await fetch(`${url}/guest/claim`, { method: 'POST', headers })).status
  }

  async lines(url: string): Promise<{ product: string; quantity: number }[]> {
    return ((await (await fetch(`${url}/cart/item`, { headers: this.#user })).json()) as { data: [] }).data
  }
}

testOnEngines('a kill during claims neither loses nor duplicates a line', async (t, application) => {
  const { directory, run } = application
  t.equal((await run('module-install', 'api-cart')).exitCode, 0)
  const host = await start(t, directory)
  const shoppers: Shopper[] = []
  for (let index = 0; index < SHOPPERS; index++) {
    const { token } = (await (await fetch(`${host.url}/guest`, { method: 'POST' })).json()) as {
      token: string
    }
    shoppers.push(new Shopper(token, (await run('token', `user ${index}`)).json.token))
  }
  await Promise.all(
    shoppers.flatMap((shopper) => ['a', 'b', 'c'].map((product) => shopper.add(host.url, product))),
  )

  const claims = shoppers.flatMap((shopper, index) => {
    const adding = [shopper.add(host.url, `x ${index}`), shopper.add(host.url, `y ${index}`)]
    const claims = [shopper.claim(host.url), shopper.claim(host.url)]
    adding.push(shopper.add(host.url, `z ${index}`))
    for (const lost of adding) lost.catch(() => {})
    return claims
  })
  await Promise.any(claims)
  host.child.kill('SIGKILL')
  t.equal(await host.ended, 'SIGKILL')
  const responses = await Promise.allSettled(claims)
  const responded = responses.filter(({ status }) => status === 'fulfilled')
  t.comment(`${responded.length} of ${claims.length} claims had a response`)

  const { url } = await start(t, directory)
  for (const shopper of shoppers) {
    t.equal(await shopper.claim(url), 200)
    const lines = await shopper.lines(url)
    const products = lines.map(({ product }) => product)
    t.equal(new Set(products).size, products.length, 'none twice')
    t.same(new Set(lines.map(({ quantity }) => quantity)), new Set([2]))
    t.same(
      [...shopper.acknowledged].filter((product) => !products.includes(product)),
      [],
      'none lost',
    )
    t.same(
      products.filter((product) => !shopper.sent.has(product)),
      [],
      'none of others',
    )
  }
})
