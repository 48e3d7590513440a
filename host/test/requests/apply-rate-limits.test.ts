import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '@mortise/application'
import { sql } from '@mortise/module-sdk'
import fastify, { type FastifyServerOptions } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { mintApplicationToken } from '../../src/callers/mint-token.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { RateLimits, WINDOW } from '../../src/http/limits/window-counter.ts'
import { addressLimit } from '../../src/requests/apply-rate-limits.ts'
import { testOnPostgres } from '../engines.ts'

/** A route that returns whom it is for, and one that makes a guest of whom it is for, unless it is asked to fail. */
const whoami: FixtureModule = {
  manifest: { id: 'who', routes: ['GET /who', 'POST /who', 'POST /say'] },
  files: {
    'index.js': `import { respond } from '@mortise/module-sdk'
      export default async (app) => {
        app.get('/who', { config: { access: 'caller' } }, async ({ caller }) => ({ id: caller.id }))
        app.post('/say', { config: { access: 'caller' } }, async () => ({ said: true }))
        app.post('/who', { config: { access: 'caller' } }, (request) =>
          request.transaction(function* () {
            return respond(request.headers.fail ? 409 : 201, { id: request.caller.id })
          }))
      }`,
  },
}

async function running(t: Test, rateLimit: object, config: object = {}) {
  const directory = await applicationFolder(t, { rateLimit, ...config })
  await install(t, directory, whoami, oneRoute('note', 'yes'))
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(application.url + path, { headers, method })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as { token: string },
    }
  }
  /** The statuses of so many requests, one after the other. */
  const statuses = async (count: number, ...request: Parameters<typeof ask>) => {
    const found: number[] = []
    for (let index = 0; index < count; index += 1) found.push((await ask(...request)).status)
    return found
  }
  const bearer = async (subject: string) => {
    const token = await mintApplicationToken({ directory, subject, expiresIn: '1h' })
    return { authorization: `Bearer ${token}` }
  }
  return { url: application.url, ask, statuses, bearer }
}

const repeated = (status: number, count: number) => Array.from({ length: count }, () => status)

t.test('each caller has a limit of its own, from all addresses together', async (t) => {
  const { ask, statuses, bearer } = await running(t, { max: 3 })
  const alice = await bearer('alice')
  const first = await ask('/who', alice)
  t.equal(first.headers.get('ratelimit-policy'), '"caller";q=3;w=60, "address";q=3000;w=60')
  t.match(first.headers.get('ratelimit'), /^"caller";r=2;t=\d+, "address";r=2999;t=\d+$/)
  t.same(await statuses(3, '/who', alice), [200, 200, 429])
  const refused = await ask('/who', alice)
  t.match(refused, { status: 429, body: { code: 'rate-limited', detail: /Try again in \d+ s/ } })
  t.match(refused.headers.get('ratelimit'), /^"caller";r=0;/)
  const seconds = Number(refused.headers.get('retry-after'))
  // At the beginning of a minute: until a third of it has faded in the next.
  t.ok(seconds >= 1 && seconds <= 80)
  t.equal(refused.headers.get('content-type'), 'application/problem+json')

  t.same(await statuses(3, '/who', await bearer('bob')), [200, 200, 200])
  const { token } = (await ask('/guest', {}, 'POST')).body
  t.same(await statuses(4, '/who', { 'guest-token': token }), [200, 200, 200, 429])
})

t.test('each address has one rate limit for all its callers and routes', async (t) => {
  const { ask, statuses, bearer } = await running(t, { maxPerAddress: 6 })
  const found = [
    await ask('/who'),
    await ask('/no-such-path'),
    await ask('/note', {}, 'DELETE'),
    await ask('/who', { authorization: 'Bearer made.up.token' }),
    await ask('/who', { 'guest-token': 'x' }),
    await ask('/openapi.json'),
  ]
  t.same(
    found.map(({ status }) => status),
    [200, 404, 405, 401, 401, 200],
  )
  found.forEach(({ headers }, index) => {
    t.match(headers.get('ratelimit'), new RegExp(`"address";r=${5 - index};t=`))
  })
  t.same(await statuses(1, '/who', await bearer('alice')), [429])
  t.same(await statuses(1, '/no-such-path'), [429])
  t.same(
    await statuses(1, '/who', { authorization: 'Bearer made.up.token' }),
    [429],
    'it is not even looked at',
  )
})

t.test('health probes always get a response', async (t) => {
  const { ask, statuses } = await running(t, { maxPerAddress: 1 })
  t.same(await statuses(2, '/note'), [200, 429])
  for (const path of ['/health/live', '/health/ready']) t.same(await statuses(3, path), repeated(200, 3))
  t.equal((await ask('/health/live')).headers.get('ratelimit'), null)
})

t.test('new guests are counted by address, and only those that exist', async (t) => {
  const { ask, statuses, bearer } = await running(t, { maxNewGuests: 3 })
  t.same(await statuses(5, '/who'), repeated(200, 5), 'who reads is nobody yet')
  t.same(await statuses(5, '/who', { fail: 'yes' }, 'POST'), repeated(409, 5), 'nor is whose write fails')
  t.same(await statuses(5, '/say', {}, 'POST'), repeated(200, 5), 'nor is who stores nothing')
  const { token } = (await ask('/guest', {}, 'POST')).body
  t.same(await statuses(3, '/who', {}, 'POST'), [201, 201, 429])
  const refused = await ask('/guest', {}, 'POST')
  t.match(refused, { status: 429, body: { code: 'rate-limited', detail: /new guests/ } })
  t.ok(refused.headers.get('retry-after'))
  t.same(await statuses(1, '/who', { 'guest-token': token }, 'POST'), [201], 'who is one already continues')
  t.same(await statuses(1, '/who', await bearer('alice'), 'POST'), [201])
})

t.test('many at once are no more than the limit', async (t) => {
  const { ask, bearer } = await running(t, { max: 20, maxNewGuests: 5 })
  const alice = await bearer('alice')
  const count = async (asked: Promise<{ status: number }>[]) =>
    (await Promise.all(asked)).filter(({ status }) => status < 300).length
  t.equal(await count(Array.from({ length: 40 }, () => ask('/who', alice))), 20)
  t.equal(await count(Array.from({ length: 40 }, () => ask('/guest', {}, 'POST'))), 5)
})

t.test('0 switches the limit off', async (t) => {
  const { ask, statuses, bearer } = await running(t, { max: 0, maxPerAddress: 1, maxNewGuests: 1 })
  t.same(await statuses(3, '/who', await bearer('alice')), repeated(200, 3))
  t.same(await statuses(3, '/guest', {}, 'POST'), repeated(201, 3))
  const { headers } = await ask('/who')
  t.equal(headers.get('ratelimit'), null)
  t.equal(headers.get('ratelimit-policy'), null)
})

t.test('the address is that of the connection, unless a trusted proxy names another', async (t) => {
  const forwarded = (address: string) => ({ 'x-forwarded-for': address })
  const none = await running(t, { maxPerAddress: 1 })
  t.same(await none.statuses(1, '/note', forwarded('192.0.2.1')), [200])
  t.same(await none.statuses(1, '/note', forwarded('192.0.2.2')), [429])
  const proxied = await running(t, { maxPerAddress: 1 }, { server: { port: 0, trustProxy: ['127.0.0.1'] } })
  for (const address of ['192.0.2.1', '2001:db8:0:1::1', '2001:db8:0:2::1'])
    t.same(await proxied.statuses(2, '/note', forwarded(address)), [200, 429], address)
  for (const address of ['192.0.2.3:5555', '[2001:db8:0:3::1]:99'])
    t.same(await proxied.statuses(2, '/note', forwarded(address)), [200, 429], address)
  t.same(await proxied.statuses(1, '/note', forwarded('192.0.2.3:5556')), [429], 'whatever its port')
  t.same(await proxied.statuses(1, '/note', forwarded('192.0.2.4, 127.0.0.1')), [200], 'through two proxies')
  t.same(await proxied.statuses(1, '/note', forwarded('192.0.2.4:80')), [429])
  t.same(await proxied.statuses(1, '/note', forwarded('unknown')), [200])
  t.same(await proxied.statuses(1, '/note', forwarded('_hidden')), [429], 'all words are one')
  t.same(await proxied.statuses(1, '/note', forwarded('2001:db8:0:1:ffff::')), [429], 'the same /64')
})

t.test('a limit shared by all callers is logged once', async (t) => {
  for (const { trustProxy, line } of [
    { trustProxy: [], line: /^all callers behind 127\.0\.0\.1 share one rate limit: .*server\.trustProxy/ },
    { trustProxy: ['127.0.0.1'], line: /X-Forwarded-For is not an IP address, such as unknown, share one/ },
  ]) {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (text) => lines.push(JSON.parse(text).msg) })
    const app = fastify(fastifyOptions({ logger, trustProxy }) as FastifyServerOptions)
    t.teardown(() => app.close())
    const config = { max: 1, maxPerAddress: 1, maxNewGuests: 1, maxBytes: 1, maxBytesPerAddress: 1 }
    const limits = new RateLimits(config as Config['rateLimit'])
    await app.register(addressLimit, { limits, trustsProxy: trustProxy.length > 0 })
    app.get('/', async () => 'yes')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const ask = async (headers: Record<string, string>) => (await fetch(url, { headers })).status
    if (trustProxy.length > 0) for (const _time of [1, 2]) await ask({ 'x-forwarded-for': '192.0.2.1' })
    t.same(lines, [])
    for (const _time of [1, 2, 3]) await ask({ 'x-forwarded-for': 'unknown' })
    t.equal(lines.length, 1)
    t.match(lines[0], line)
  }
})

t.test('refusals are counted in a metric', async (t) => {
  const { url, statuses } = await running(t, { maxNewGuests: 1 })
  t.same(await statuses(3, '/guest', {}, 'POST'), [201, 429, 429])
  const figures = await (await fetch(`${url}/metrics`)).text()
  t.match(figures, /^mortise_rate_limited_total\{limit="new-guests"\} 2$/m)
  t.match(figures, /^mortise_rate_limited_total\{limit="address"\} 0$/m)
})

/** A route that makes notes of bodies, one that has no body, and how many of the previous were handled. */
const notes: FixtureModule = {
  manifest: { id: 'notes', routes: ['POST /notes', 'DELETE /notes', 'GET /notes'] },
  files: {
    'index.js': `import { respond } from '@mortise/module-sdk'
      let handled = 0
      export default async (app) => {
        const config = { access: 'caller' }
        const body = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false }
        app.post('/notes', { config, schema: { body } }, (request) => {
          handled += 1
          return request.transaction(function* () { return respond(201, {}) })
        })
        app.delete('/notes', { config }, (request) => request.transaction(function* () { return respond(200, {}) }))
        app.get('/notes', { config }, async () => ({ handled }))
      }`,
  },
}

/** A host that counts the bytes of bodies, and `send`, which posts a body of so many. */
async function counting(t: Test, rateLimit: object) {
  const directory = await applicationFolder(t, { rateLimit })
  await install(t, directory, notes)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const authorize = async (subject: string) => ({
    authorization: `Bearer ${await mintApplicationToken({ directory, subject, expiresIn: '1h' })}`,
  })
  const send = (
    bytes: number,
    headers: Record<string, string>,
    { chunked = false, method = 'POST' } = {},
  ) => {
    const text = JSON.stringify({ text: '' }).replace('""', `"${'x'.repeat(bytes - 11)}"`)
    const body = chunked ? new Blob([text]).stream() : text
    const type = { 'content-type': 'application/json' }
    return fetch(`${application.url}/notes`, {
      method,
      headers: { ...type, ...headers },
      body,
      duplex: 'half',
    })
  }
  const handled = async () =>
    ((await (await fetch(`${application.url}/notes`)).json()) as { handled: number }).handled
  return { url: application.url, authorize, send, handled }
}

t.test('the bytes of bodies have limits of their own, by caller and by address', async (t) => {
  const { url, authorize, send, handled } = await counting(t, { maxBytes: 1000, maxBytesPerAddress: 1500 })
  const [alice, bob] = [await authorize('alice'), await authorize('bob')]
  const first = await send(600, alice)
  t.equal(first.status, 201)
  t.equal(
    first.headers.get('ratelimit-policy'),
    '"caller";q=1200;w=60, "address";q=3000;w=60, "address-bytes";q=1500;w=60;qu="content-bytes", "caller-bytes";q=1000;w=60;qu="content-bytes"',
  )
  t.match(first.headers.get('ratelimit'), /, "address-bytes";r=900;t=\d+, "caller-bytes";r=400;t=\d+$/)

  const refused = await send(401, alice)
  t.equal(refused.status, 429)
  t.match(await refused.json(), {
    code: 'rate-limited',
    detail: /401 bytes.*a caller may send 1000.*Try again in/,
  })
  t.match(refused.headers.get('ratelimit'), /"address-bytes";r=900;t=\d+, "caller-bytes";r=400;/)
  t.ok(Number(refused.headers.get('retry-after')) >= 1)

  t.equal((await send(900, bob)).status, 201, 'what was refused is not counted against the address')
  const full = await send(20, bob)
  t.equal(full.status, 429)
  t.match(await full.json(), { detail: /an address may send/ })
  t.equal((await send(20, {})).status, 429, 'nor has someone new any left')
  t.equal(
    (await fetch(`${url}/notes`, { method: 'DELETE', headers: bob })).status,
    200,
    'no body is no bytes',
  )
  t.equal((await fetch(`${url}/notes`, { headers: bob })).headers.get('ratelimit')?.includes('bytes'), false)
  t.equal(await handled(), 2)
  const figures = await (await fetch(`${url}/metrics`)).text()
  t.match(figures, /^mortise_rate_limited_total\{limit="caller-bytes"\} 1$/m)
  t.match(figures, /^mortise_rate_limited_total\{limit="address-bytes"\} 2$/m)
})

t.test('without limits bodies have none', async (t) => {
  const { authorize, send } = await counting(t, { max: 0, maxBytes: 1, maxBytesPerAddress: 1 })
  const { status, headers } = await send(600, await authorize('alice'))
  t.same([status, headers.get('ratelimit')], [201, null])
})

t.test('a body without a length counts by its bytes', async (t) => {
  const { authorize, send, handled } = await counting(t, { maxBytes: 1000 })
  const alice = await authorize('alice')
  t.equal((await send(600, alice, { chunked: true })).status, 201)
  t.equal((await send(401, alice, { chunked: true })).status, 429)
  t.equal((await send(401, alice)).status, 429)
  t.equal((await send(400, alice, { chunked: true })).status, 201)
  t.equal(await handled(), 2)
})

t.test('a chunked body counts the bytes that were read, even if it is invalid', async (t) => {
  const { url, authorize } = await counting(t, {})
  const alice = await authorize('alice')
  /** Sends so many bytes, and the end of the body if it is to have one. */
  const send = (bytes: number, type: string, isWhole = true) => {
    const headers = { ...alice, 'content-type': type, 'transfer-encoding': 'chunked' }
    const request = http.request(`${url}/notes`, { method: 'POST', headers })
    t.teardown(() => request.destroy())
    request.write('x'.repeat(bytes))
    if (isWhole) request.end()
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).once('error', reject)
    })
  }
  /** What the address has used, with the two bytes by which it is found out. */
  const used = async () => {
    const headers = { ...alice, 'content-type': 'application/json' }
    const { headers: responded } = await fetch(`${url}/notes`, { method: 'POST', headers, body: '{}' })
    return 10_485_760 - Number(/"address-bytes";r=(\d+)/.exec(responded.get('ratelimit') as string)?.[1])
  }
  t.equal((await send(1000, 'application/json')).statusCode, 400)
  t.equal(await used(), 1002, 'what is no JSON')
  t.equal((await send(1000, 'text/plain')).statusCode, 415)
  t.equal(await used(), 2004, 'what is of another type')
  const tooLarge = await send(400_000, 'application/json', false)
  t.equal(tooLarge.statusCode, 413)
  tooLarge.resume()
  await once(tooLarge, 'close')
  while ((await used()) < 300_000) await pause(20)
  const before = await used()
  t.ok(before < 400_000, 'what is too large, as far as it was read')
  const headers = { ...alice, 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const broken = http.request(`${url}/notes`, { method: 'POST', headers }).on('error', () => {})
  await new Promise((resolve) => broken.write('x'.repeat(200_000), resolve))
  broken.destroy()
  while ((await used()) < before + 100_000) await pause(20)
})

t.test('a body over the limit is refused before it is sent, one over all limits as too large', async (t) => {
  const { url } = await counting(t, { maxBytes: 1000, maxBytesPerAddress: 1000 })
  /** Sends the head of a request alone. */
  const announce = (length: number, more: Record<string, string> = {}) =>
    new Promise<number | undefined | 'continue'>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': String(length), ...more }
      const request = http.request(`${url}/notes`, { method: 'POST', headers })
      t.teardown(() => request.destroy())
      request.once('continue', () => resolve('continue'))
      request.once('response', ({ statusCode }) => resolve(statusCode)).once('error', reject)
      request.flushHeaders()
    })
  t.equal(await announce(1001), 429)
  t.equal(await announce(400_000), 413)
  const expect = '100-continue'
  t.equal(await announce(1001, { expect }), 429)
  t.equal(await announce(400_000, { expect }), 413)
  t.equal(await announce(10, { expect, authorization: 'Bearer z' }), 401)
  t.equal(await announce(10, { expect }), 'continue')
})

t.test('a preflight counts against the address limit', async (t) => {
  const origin = 'https://web.example'
  const { url } = await running(t, { maxPerAddress: 2 }, { cors: { origins: [origin] } })
  const preflight = (path: string) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = { origin, 'access-control-request-method': 'POST' }
      const request = http.request(url + path, { method: 'OPTIONS', headers }, (response) => {
        response.resume()
        resolve(response)
      })
      request.once('error', reject).end()
    })
  t.match(await preflight('/who'), { statusCode: 204, headers: { ratelimit: /"address";r=1/ } })
  t.match(await preflight('/no-such-path'), { statusCode: 404 })
  t.match(await preflight('/who'), {
    statusCode: 429,
    headers: { 'access-control-allow-origin': origin },
  })
})

t.test('requests without a caller or a route use no byte limit', async (t) => {
  const { url, authorize, send } = await counting(t, { maxBytesPerAddress: 100 })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer made.up.token' }
  const body = JSON.stringify({ text: 'x'.repeat(80) })
  const statuses = async (path: string) => (await fetch(url + path, { method: 'POST', headers, body })).status
  t.equal(await statuses('/notes'), 401)
  t.equal(await statuses('/no-such-path'), 404)
  t.equal((await send(100, await authorize('alice'))).status, 201)
})

testOnPostgres('hosts of one database come to share a limit', async (t, open, url) => {
  const storage = await open()
  const config = { database: url, auth: { issuer: 'shared' } }
  const one = await running(t, { max: 20 }, config)
  const two = await running(t, { max: 20 }, config)
  const minute = () => Math.trunc(Date.now() / WINDOW)
  /** Each exchange of counts gives the caller's row a new version. */
  const version = async () => JSON.stringify(await storage.many(sql`SELECT xmin::text FROM mortise_rate`))
  /** How many requests the second host allows after 20 at the first; undefined where a minute ended meanwhile. */
  const allowedByTwo = async (subject: string) => {
    const caller = await one.bearer(subject)
    const begun = minute()
    t.same(await one.statuses(20, '/who', caller), repeated(200, 20))
    for (let allowed = 0; minute() === begun; allowed += 1) {
      const before = await version()
      if ((await two.ask('/who', caller)).status === 429) return allowed
      // It exchanges nothing before the second request, a tenth of the limit.
      while (allowed > 0 && minute() === begun && (await version()) === before) await pause(20)
    }
    return undefined
  }
  let allowed: number | undefined
  for (let index = 0; allowed === undefined; index += 1) allowed = await allowedByTwo(`alice-${index}`)
  t.ok(allowed >= 2, 'it hears of the first with its own first report')
  t.ok(allowed < 15, 'far fewer than the limit allows one host')
})
