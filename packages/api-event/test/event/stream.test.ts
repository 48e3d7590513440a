import { once } from 'node:events'
import { mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sql } from '@mortise/module-sdk'
import type { TestCaller, TestHost } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import { eventHost, idOf, testOnEngines, walk } from '../event-host.ts'
import { type Message, StreamReader } from './stream-reader.ts'

type Options = Parameters<typeof eventHost>[1]

/** A host with a socket. */
async function streamingHost(t: Test, options: Options = {}) {
  const host = await eventHost(t, { rehearse: false, ...options })
  const url = await host.app.listen({ port: 0 })
  return {
    ...host,
    /** A stream of a caller that has begun. */
    async open(caller: TestCaller, query = '', headers: Readonly<Record<string, string>> = {}) {
      const reader = await StreamReader.open(t, `${url}/event${query}`, {
        ...(await caller.credentials()),
        ...headers,
      })
      if (reader.response.statusCode === 200) await reader.until(() => reader.lastEventId !== '')
      return reader
    },
  }
}

const settings = (own: object) => ({ config: { modules: { 'api-event': own } } })

/** The number of rows of each read of events from now on. */
function readsOf(database: TestHost['database']): number[] {
  const reads: number[] = []
  const many = database.many.bind(database)
  database.many = async <Row>(query: Sql) => {
    const rows = await many<Row>(query)
    if (query.strings.join('').includes('SELECT position, id, type')) reads.push(rows.length)
    return rows
  }
  return reads
}

const numbers = (messages: readonly Message[]) => messages.map(({ data }) => (data.data as { n: number }).n)

testOnEngines('a stream sends new events as Server-Sent Events', async (t) => {
  const { open, ring, user } = await streamingHost(t)
  await ring(2, idOf('ann'))
  const reader = await open(user('ann'))
  t.match(reader.response, {
    statusCode: 200,
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
  await ring(3, idOf('ann'))
  const messages = await reader.count(3)
  t.same(numbers(messages), [3, 4, 5])
  const listed = await walk(user('ann'))
  t.same(
    messages.map(({ data }) => data),
    listed.slice(2),
  )
  t.same(
    messages.map(({ id, event }) => [id, event]),
    listed.slice(2).map(({ id, type }) => [id, type]),
  )
  t.equal(reader.lastEventId, listed[4]?.id)
})

testOnEngines('a reader that reconnects misses nothing, even before the first event', async (t) => {
  const { open, ring, user } = await streamingHost(t)
  const ann = user('ann')
  const comeBack = async (reader: StreamReader, query?: string) => {
    reader.close()
    await ring(2, idOf('ann'))
    return open(ann, query, { 'last-event-id': reader.lastEventId })
  }
  await ring(1, idOf('ben'))
  const fresh = await open(ann)
  t.equal(fresh.lastEventId, 'start', 'that others do something is not reported')
  const second = await comeBack(fresh)
  t.same(numbers(await second.count(2)), [2, 3])
  const idle = await comeBack(second)
  t.same(numbers(await idle.count(2)), [4, 5])
  const third = await comeBack(idle, '?after=start')
  t.same(numbers(await third.count(2)), [6, 7], 'the header wins over the query')
  t.same(numbers(await (await open(ann, '?after=start')).count(6)), [2, 3, 4, 5, 6, 7])
})

testOnEngines('a stream shows its caller’s own events, or what a reader of all has asked for', async (t) => {
  const { hang, open, ring, user } = await streamingHost(t)
  const root = user('root', 'event:read')
  const [anns, all, bens, hung, second] = await Promise.all([
    open(user('ann')),
    open(root),
    open(root, `?owner=${idOf('ben')}`),
    open(root, '?types=bell.hung'),
    open(root, '?subject=bell_2'),
  ])
  const happen = async () => {
    await ring(1, idOf('ann'))
    await ring(1, idOf('ben'))
    await ring(1)
    await hang('bell_1', idOf('ann'))
  }
  await happen()
  await happen()
  const types = (reader: StreamReader) => reader.messages.map(({ event }) => event)
  await Promise.all([all.count(8), anns.count(4), bens.count(2), hung.count(2), second.count(2)])
  t.same(types(anns), ['bell.rung', 'bell.hung', 'bell.rung', 'bell.hung'])
  t.same(numbers(bens.messages), [2, 5])
  t.same(numbers(second.messages), [2, 5])
  t.same(types(hung), ['bell.hung', 'bell.hung'])
  t.equal((await open(user('ann'), `?owner=${idOf('ben')}`)).response.statusCode, 403)
})

testOnEngines('readers that reconnect during many events see each once, in order', async (t) => {
  const { open, ring, user } = await streamingHost(t)
  const total = 900
  const root = user('root', 'admin')
  const follow = async (patience: number) => {
    const seen: Message[] = []
    for (let lastEventId = 'start'; seen.length < total; ) {
      const reader = await open(root, '', { 'last-event-id': lastEventId })
      await reader.count(Math.min(patience, total - seen.length))
      reader.close()
      seen.push(...reader.messages)
      lastEventId = reader.lastEventId
    }
    return seen
  }
  const following = [900, 400, 117, 60].map(follow)
  for (let left = total; left > 0; left -= 15) await Promise.all([ring(1), ring(10), ring(4)])
  const expected = (await walk(root, '/event?limit=100')).map(({ id }) => id)
  t.equal(expected.length, total)
  for (const seen of await Promise.all(following))
    t.same(
      seen.map(({ id }) => id),
      expected,
    )
})

testOnEngines('many streams cost one read of what happens', async (t) => {
  const { database, open, ring, user } = await streamingHost(
    t,
    settings({ streamsPerCaller: 50, streamsPerAddress: 50 }),
  )
  const reads = readsOf(database)
  const root = user('root', 'admin')
  const readers = await Promise.all(Array.from({ length: 50 }, () => open(root)))
  await ring()
  await Promise.all(readers.map((reader) => reader.count(1)))
  reads.length = 0
  await ring()
  await Promise.all(readers.map((reader) => reader.count(2)))
  // The host's event handlers read too.
  t.ok(reads.length <= 5, `${reads.length} reads for 50 streams`)
  for (const reader of readers) t.same(numbers(reader.messages), [1, 2])
})

testOnEngines('streams end cleanly when their generation retires', async (t) => {
  const { app, open, ring, user } = await streamingHost(t)
  const reader = await open(user('root', 'admin'))
  await ring(2)
  await reader.count(2)
  app.retire?.()
  t.equal(await reader.ended, true)
  const late = await open(user('root', 'admin'), '', { 'last-event-id': reader.lastEventId })
  t.equal(await late.ended, true)
  t.equal(late.lastEventId, reader.lastEventId)
  t.ok(reader.retry >= 2_000 && reader.retry <= 4_000)
})

test('a stream sends heartbeats, and ends with the credentials of its caller', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { app, open, guest, user } = await streamingHost(t, settings({ heartbeatSeconds: 7 }))
  const token = (await app.inject({ method: 'POST', url: '/guest' })).json().token
  const visitor = await open(guest(), '', { 'guest-token': token })
  const ann = await open(user('ann'))
  mock.timers.tick(6_999)
  await nextTurn()
  t.equal(visitor.heartbeats, 0)
  for (const beats of [1, 2]) {
    mock.timers.tick(beats === 1 ? 1 : 7_000)
    await visitor.until(() => visitor.heartbeats === beats)
    await ann.until(() => ann.heartbeats === beats)
  }
  t.equal((await user('ann').post('/guest/claim', undefined, { 'guest-token': token })).statusCode, 200)
  mock.timers.tick(7_000)
  t.equal(await visitor.ended, true)
  mock.timers.tick(7_000)
  await ann.until(() => ann.heartbeats === 4)
})

test('a reader that stalls causes few reads', async (t) => {
  const { app, database, open, reacted, ring, user } = await streamingHost(t)
  for (let index = 0; index < 25; index += 1) await ring(20, null, 'x'.repeat(60_000))
  await reacted()
  const reads = readsOf(database)
  const read = () => reads.reduce((sum, rows) => sum + rows, 0)
  const connected = once(app.server, 'connection')
  const slow = await open(user('root', 'admin'), '?after=start')
  slow.response.pause()
  const [socket] = await connected
  let before = -1
  while (socket.writableLength === 0 || before !== read()) {
    before = read()
    for (let turn = 0; turn < 100; turn += 1) await nextTurn()
  }
  t.ok(read() < 300, `${read()} of 500 events were read`)
})

test('streams are limited, by caller and in all', async (t) => {
  const { open, user } = await streamingHost(t, settings({ streamsPerCaller: 2, streams: 3 }))
  const [ann, ben, eve] = [user('ann'), user('ben'), user('eve')]
  const first = await open(ann)
  await open(ann)
  await refused(t, await open(ann), 429, 'too-many-streams')
  await open(ben)
  await refused(t, await open(eve), 503, 'streams-exhausted')
  first.close()
  while ((await open(eve)).response.statusCode !== 200) await nextTurn()
})

test('guests leave a fifth of all streams to signed-in users', async (t) => {
  const { app, guest, open, user } = await streamingHost(t, settings({ streams: 10 }))
  const visit = async () => {
    const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
    return open(guest(), '', { 'guest-token': token })
  }
  const visitors = []
  for (let count = 0; count < 8; count += 1) visitors.push(await visit())
  for (const { response } of visitors) t.equal(response.statusCode, 200)
  await refused(t, await visit(), 503, 'guest-streams-exhausted')
  for (const name of ['ann', 'ben']) t.equal((await open(user(name))).response.statusCode, 200)
  await refused(t, await open(user('eve')), 503, 'streams-exhausted')
  visitors[0]?.close()
  while ((await visit()).response.statusCode !== 200) await nextTurn()
})

test('streams are limited by address, and guests take none from the users there', async (t) => {
  const { app, guest, open, user } = await streamingHost(t, {
    config: {
      server: { trustProxy: ['127.0.0.1'] },
      modules: { 'api-event': { streamsPerCaller: 2, streamsPerAddress: 3 } },
    },
  })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const visit = async (address: string) => {
    const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
    return open(guest(), '', { 'guest-token': token, ...from(address) })
  }
  const open3 = [await visit('2001:db8::1'), await visit('2001:db8::2'), await visit('2001:db8::3')]
  for (const { response } of open3) t.equal(response.statusCode, 200)
  await refused(t, await visit('2001:db8::4'), 429, 'too-many-streams-per-address')
  t.equal((await visit('2001:db8:0:1::4')).response.statusCode, 200)
  for (const name of ['ann', 'ben', 'eve'])
    t.equal((await open(user(name), '', from('2001:db8::5'))).response.statusCode, 200)
  await refused(t, await open(user('joe'), '', from('2001:db8::6')), 429, 'too-many-streams-per-address')
  for (const reader of open3) reader.close()
  // The streams of users count for guests.
  await refused(t, await visit('2001:db8::7'), 429, 'too-many-streams-per-address')
  t.equal((await open(user('joe'), '', from('192.0.2.1'))).response.statusCode, 200)
})

test('in OpenAPI the stream is another type than the page', async (t) => {
  const { app } = await eventHost(t)
  const { paths, components } = (await app.inject('/openapi.json')).json()
  const { content } = paths['/event'].get.responses[200]
  t.same(content['application/json'].schema, { $ref: '#/components/schemas/EventPage' })
  t.same(content['text/event-stream'].schema, { $ref: '#/components/schemas/EventStream' })
  t.match(components.schemas.EventStream, { type: 'string', description: /^Server-Sent Events/ })
})

async function refused(t: Test, { response, text }: StreamReader, status: number, code: string) {
  t.match(response, { statusCode: status, headers: { 'retry-after': '10' } })
  t.match(await text(), `"code":"${code}"`)
}

test('a new caller gets no stream, and HEAD has the status of GET', async (t) => {
  const { guest, ring, user } = await eventHost(t)
  const accept = 'text/event-stream'
  await ring()
  const unknown = await guest().get('/event', { accept })
  t.equal(unknown.statusCode, 401)
  t.match(unknown.json(), { code: 'credentials-needed' })
  t.match(unknown.headers, { 'www-authenticate': 'Bearer' })
  const ann = user('ann')
  const head = await ann.request('HEAD', '/event', undefined, { accept })
  t.match(head, { statusCode: 200, body: '', headers: { 'content-type': accept } })
  t.equal(head.headers['content-length'], undefined)
  const list = await ann.request('HEAD', '/event')
  t.match(list, { statusCode: 200, body: '', headers: { 'content-type': /^application\/json/ } })
  t.equal(list.headers.etag, undefined)
})

test('a stream has no ETag: with If-Match it is 412, as any read', async (t) => {
  const ann = (await eventHost(t)).user('ann')
  const accept = 'text/event-stream'
  for (const method of ['GET', 'HEAD'] as const) {
    const refused = await ann.request(method, '/event', undefined, { accept, 'if-match': '"x"' })
    t.match(refused, { statusCode: 412, headers: { 'content-type': 'application/problem+json' } })
  }
  t.equal((await ann.request('HEAD', '/event', undefined, { accept, 'if-match': '*' })).statusCode, 200)
})
