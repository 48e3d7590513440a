import { setTimeout as pause } from 'node:timers/promises'
import { sql } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { Application } from '../../src/application.ts'
import { mintApplicationToken } from '../../src/offline.ts'
import { applicationFolder, type FixtureModule, install, oneRoute } from '../application-folder.ts'
import { testOnPostgres } from '../storage/engines.ts'

/** A route that answers whom it is for, and one that makes a guest of whom it is for, unless it is told to fail. */
const whoami: FixtureModule = {
  manifest: { id: 'who', routes: ['GET /who', 'POST /who'] },
  files: {
    'index.js': `import { answer } from '@mortise/module-sdk'
      export default async (app) => {
        app.get('/who', { config: { access: 'caller' } }, async ({ caller }) => ({ id: caller.id }))
        app.post('/who', { config: { access: 'caller' } }, (request) =>
          request.transaction(function* () {
            return answer(request.headers.fail ? 409 : 201, { id: request.caller.id })
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
    const answer = await fetch(application.url + path, { headers, method })
    return {
      status: answer.status,
      headers: answer.headers,
      body: (await answer.json()) as { token: string },
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

t.test('a caller has a limit of their own, wherever they call from', async (t) => {
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

t.test('an address has one, whatever it asks for and as whom', async (t) => {
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

t.test('an orchestrator always gets an answer', async (t) => {
  const { ask, statuses } = await running(t, { maxPerAddress: 1 })
  t.same(await statuses(2, '/note'), [200, 429])
  for (const path of ['/health/live', '/health/ready']) t.same(await statuses(3, path), repeated(200, 3))
  t.equal((await ask('/health/live')).headers.get('ratelimit'), null)
})

t.test('new guests are counted by address, and only those that there are', async (t) => {
  const { ask, statuses, bearer } = await running(t, { maxNewGuests: 3 })
  t.same(await statuses(5, '/who'), repeated(200, 5), 'who reads is nobody yet')
  t.same(await statuses(5, '/who', { fail: 'yes' }, 'POST'), repeated(409, 5), 'nor is whose write fails')
  const { token } = (await ask('/guest', {}, 'POST')).body
  t.same(await statuses(3, '/who', {}, 'POST'), [201, 201, 429])
  const refused = await ask('/guest', {}, 'POST')
  t.match(refused, { status: 429, body: { code: 'rate-limited', detail: /new guests/ } })
  t.ok(refused.headers.get('retry-after'))
  t.same(await statuses(1, '/who', { 'guest-token': token }, 'POST'), [201], 'who is one already goes on')
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

t.test('0 is off', async (t) => {
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
  t.same(await proxied.statuses(1, '/note', forwarded('2001:db8:0:1:ffff::')), [429], 'the same /64')
})

t.test('what was refused is told as a figure', async (t) => {
  const { url, statuses } = await running(t, { maxNewGuests: 1 })
  t.same(await statuses(3, '/guest', {}, 'POST'), [201, 429, 429])
  const figures = await (await fetch(`${url}/metrics`)).text()
  t.match(figures, /^mortise_rate_limited_total\{limit="new-guests"\} 2$/m)
  t.match(figures, /^mortise_rate_limited_total\{limit="address"\} 0$/m)
})

testOnPostgres('hosts of one database come to share a limit', async (t, open, url) => {
  const storage = await open()
  const config = { database: url, auth: { issuer: 'shared' } }
  const one = await running(t, { max: 20 }, config)
  const two = await running(t, { max: 20 }, config)
  const alice = await one.bearer('alice')
  // What is told is counted by the minute: not across the end of one, where less than a tenth may be left.
  const left = 60_000 - (Date.now() % 60_000)
  if (left < 15_000) await pause(left)
  t.same(await one.statuses(20, '/who', alice), repeated(200, 20))
  t.same(await two.statuses(2, '/who', alice), [200, 200])
  const told = sql`SELECT 1 FROM mortise_rate GROUP BY id HAVING sum(count) >= 22`
  while ((await storage.many(told)).length === 0) await pause(20)
  t.equal((await two.statuses(10, '/who', alice)).at(-1), 429)
})
