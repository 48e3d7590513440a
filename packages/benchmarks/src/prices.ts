import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mintToken } from '@mortise/host'
import {
  Child,
  hostServer,
  mintUsers,
  ownSchema,
  prepareApplication,
  type Usage,
} from '@mortise/verification'
import type { LoadRequest, LoadResult } from './load.ts'
import { send } from './prepare-callers.ts'
import { summarize } from './ratios.ts'
import { CONNECTIONS, limits, modules } from './servers.ts'

/**
 * What requests take with a catalogue ÷ without one: prints the CPU time of the host's process per
 * request, of two hosts in turn. Each caller has 3 products of their own, with stock.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '9' }, seconds: { type: 'string', default: '2' } },
})
const [postgres] = positionals
const folder = await mkdtemp(join(tmpdir(), 'mortise-prices-'))
const generator = new Child(new URL('load-generator.ts', import.meta.url))
const children = [generator]
const schemas: ReturnType<typeof ownSchema>[] = []

const productsOf = (caller: number) =>
  [1, 2, 3].map((number) => ({ product: `p-${caller}-${number}`, quantity: 1 }))

interface Measured {
  readonly cpuOf: (scenario: keyof typeof scenarios) => Promise<number>
}

const scenarios = {
  'GET /cart': () => ({ method: 'GET', path: '/cart' }),
  'POST /purchase': (caller: number) => ({
    method: 'POST',
    path: '/purchase',
    body: JSON.stringify({ items: productsOf(caller) }),
  }),
} as const

/** Starts a host, and fills the carts of its callers. */
async function start(name: string, installed: readonly string[]): Promise<Measured> {
  const directory = join(folder, name)
  await mkdir(directory)
  const application = await prepareApplication(directory, installed)
  const schema = postgres === undefined ? undefined : ownSchema(postgres)
  if (schema) schemas.push(schema)
  const host = new Child(hostServer)
  children.push(host)
  const options = { directory, environment: limits, ...(schema && { database: schema.url }) }
  const { url } = await host.ask<{ url: string }>(options)
  const headersOf = (token: string) => ({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
  })
  const { issuer, secret } = application
  const manager = await mintToken({
    issuer,
    secret: Buffer.from(secret),
    subject: 'manager',
    scopes: ['product:manage'],
    expiresIn: '1d',
  })
  const users = await mintUsers(application, CONNECTIONS)
  const insist = async (request: LoadRequest) => {
    const response = await send(url, request)
    if (response.status !== 201) throw new Error(await response.text())
  }
  for (const [caller, token] of users.entries()) {
    for (const line of productsOf(caller)) {
      const product = {
        id: line.product,
        name: line.product,
        stock: 1_000_000_000,
        price: { amount: 450, currency: 'EUR' },
      }
      if (name === 'priced')
        await insist({
          method: 'POST',
          path: '/product',
          headers: headersOf(manager),
          body: JSON.stringify(product),
        })
      await insist({
        method: 'POST',
        path: '/cart/item',
        headers: headersOf(token),
        body: JSON.stringify(line),
      })
    }
  }
  return {
    async cpuOf(scenario) {
      const connections = users.map((token, caller) => [
        { ...scenarios[scenario](caller), headers: headersOf(token) },
      ])
      const before = await host.ask<Usage>({})
      const result = await generator.ask<LoadResult>({ url, connections, seconds: Number(values.seconds) })
      if (result.failures > 0) throw new Error(`${result.failures} requests failed`)
      return ((await host.ask<Usage>({})).cpu - before.cpu) / result.requests
    },
  }
}

try {
  const plain = await start('plain', modules)
  const priced = await start('priced', [...modules, '@mortise/api-product'])
  for (const scenario of Object.keys(scenarios) as (keyof typeof scenarios)[]) {
    // The JIT needs some thousand requests.
    for (const host of [plain, priced, plain, priced]) await host.cpuOf(scenario)
    const ratios: number[] = []
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const first = await priced.cpuOf(scenario)
      ratios.push(first / (await plain.cpuOf(scenario)))
    }
    const { median, least, most } = summarize(ratios)
    console.log(`${scenario}: ${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`)
  }
} finally {
  await Promise.all(children.map((child) => child.stop()))
  for (const schema of schemas) await schema.drop()
  await rm(folder, { recursive: true, force: true })
}
