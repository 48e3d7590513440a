import { one, respond, run, Strict, sql, type Transaction, type Versioned } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { bearer, testApp } from '../callers/test-app.ts'

const Thing = Type.Object({ id: Type.String(), version: Type.Integer(), text: Type.String() })

/** An application with one thing; everything of it can be set. */
async function thingApp(t: Test) {
  const thing = { id: 'th:ing/1', version: 3, text: 'a', hidden: 1 }
  let found = 0
  function* find(): Transaction<Versioned> {
    found += 1
    return yield* one<Versioned>(sql`SELECT id, version FROM thing`)
  }
  const { app, storage, failures } = await testApp(t, {
    routes: (app: FastifyInstance) => {
      const config = { access: 'caller' } as const
      app.get('/thing', { config, schema: { response: { 200: Thing } } }, async () => thing)
      app.get('/plain', { config }, async () => ({ id: null, text: thing.text }))
      app.get('/list', { config }, async () => ({ data: [thing] }))
      app.get('/text', { config }, async () => 'id')
      app.get('/own', { config }, async (_request, reply) => {
        reply.header('etag', '"own"')
        return thing
      })
      app.get('/created', { config }, async (_request, reply) => reply.code(201).send(thing))
      const changes = { ...config, ifMatch: { resource: 'the thing', find } }
      const change = { config: changes, schema: { body: Strict({}), response: { 200: Thing } } }
      app.patch('/thing', change, (request) =>
        request.transaction(function* () {
          yield* run(sql`UPDATE thing SET version = version + 1`)
          return respond(200, {
            ...(yield* one<typeof thing>(sql`SELECT id, version FROM thing`)),
            text: 'a',
          })
        }),
      )
      app.delete('/thing', { config: changes }, (request) => request.transaction(find))
      app.post('/raw', { config: { ...config, module: 'thing' } }, async () => ({}))
      app.post('/raw/compared', { config: { ...changes, module: 'thing' } }, (request) =>
        request.transaction(find),
      )
      app.post('/thing', { config, schema: { body: Strict({}) } }, (request) =>
        request.transaction(function* () {
          yield* run(sql`UPDATE thing SET version = 100`)
          return respond(201, {})
        }),
      )
    },
  })
  await storage.transaction(function* () {
    yield* run(sql`CREATE TABLE thing (id TEXT NOT NULL, version INTEGER NOT NULL)`)
    yield* run(sql`INSERT INTO thing VALUES (${thing.id}, ${thing.version})`)
  })
  const get = (url: string, ifNoneMatch?: string) =>
    app.inject({ url, headers: ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch } })
  const etag = async (url: string) => (await get(url)).headers.etag as string
  const patch = (ifMatch?: string) =>
    app.inject({
      method: 'PATCH',
      url: '/thing',
      payload: {},
      headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
    })
  const version = async () => (await storage.one<Versioned>(sql`SELECT version FROM thing`)).version
  return { app, failures, thing, get, etag, patch, version, looked: () => found }
}

t.test('one resource has a strong tag, which changes with anything that its body shows', async (t) => {
  const { thing, get, etag } = await thingApp(t)
  const tags = [await etag('/thing')]
  t.match(tags[0], /^"th%3Aing%2F1:3:[\w-]{27}"$/)
  thing.hidden = 2
  t.equal(await etag('/thing'), tags[0], 'what is not sent does not matter')
  thing.text = 'b'
  tags.push(await etag('/thing'))
  thing.version = 4
  tags.push(await etag('/thing'))
  thing.id = 'other'
  tags.push(await etag('/thing'))
  t.equal(new Set(tags).size, 4)
  t.match(await etag('/plain'), /^"[\w-]{27}"$/, 'also one without a version')
  for (const url of ['/list', '/text', '/created', '/missing']) t.notOk((await get(url)).headers.etag, url)
  t.equal(await etag('/own'), '"own"')
})

t.test('a current copy of the caller gives 304', async (t) => {
  const { app, thing, get, etag } = await thingApp(t)
  const tag = await etag('/thing')
  for (const known of [tag, `W/${tag}`, `"a", ${tag}`, `W/"a" ,${tag},"b"`, '*']) {
    const response = await get('/thing', known)
    t.equal(response.statusCode, 304, known)
    t.equal(response.body, '')
    t.equal(response.headers.etag, tag)
    t.notOk(response.headers['content-type'])
    t.notOk(response.headers['content-length'])
  }
  const head = await app.inject({ method: 'HEAD', url: '/thing', headers: { 'if-none-match': tag } })
  t.match([head.statusCode, head.headers.etag, head.body], [304, tag, ''])
  for (const other of ['"a"', tag.slice(1, -1), '', `"a${tag.slice(1)}`, '"*"']) {
    const response = await get('/thing', other)
    t.equal(response.statusCode, 200, other)
    t.same(response.json(), { id: thing.id, version: 3, text: 'a' })
  }
  thing.text = 'b'
  t.equal((await get('/thing', tag)).statusCode, 200)
  t.equal((await get('/list', '*')).statusCode, 200)
  t.equal((await get('/missing', '*')).statusCode, 404)
})

t.test('a write with If-Match needs the named version', async (t) => {
  const { thing, etag, patch, version, looked } = await thingApp(t)
  const tag = await etag('/thing')
  const responded = await patch(tag)
  t.equal(responded.statusCode, 200)
  thing.version = 4
  t.equal(responded.headers.etag, await etag('/thing'), 'the response has the tag that GET shows')
  t.equal((await patch(`"a", ${await etag('/thing')}`)).statusCode, 200)
  t.equal((await patch('*')).statusCode, 200)
  t.equal(await version(), 6)
  const present = tag.replace(':3:', ':6:')
  for (const other of [
    tag,
    `W/${present}`,
    '"a"',
    '',
    present.slice(1, -1),
    '"6"',
    present.replace('th', 'the'),
  ]) {
    const refused = await patch(other)
    t.equal(refused.statusCode, 412, other)
    t.match(refused.json(), { code: 'precondition-failed', detail: /changed since/ })
  }
  t.equal(await version(), 6)
  const before = looked()
  t.equal((await patch()).statusCode, 200)
  t.equal(looked(), before, 'nothing is looked up where nothing is asked')
})

t.test('If-Match on a route without versions is refused, not ignored', async (t) => {
  const { app, version } = await thingApp(t)
  const post = (headers: Record<string, string>) =>
    app.inject({ method: 'POST', url: '/thing', payload: {}, headers })
  const refused = await post({ 'if-match': '*' })
  t.equal(refused.statusCode, 412)
  t.match(refused.json(), { code: 'precondition-failed', detail: /without a version/ })
  t.equal(await version(), 3)
  t.equal((await post({})).statusCode, 201)
})

t.test('the host’s own writes have nothing to compare, and say so', async (t) => {
  const { app } = await thingApp(t)
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const claim = { authorization: await bearer('ann'), 'guest-token': token }
  for (const [url, own] of [
    ['/guest', {}],
    ['/guest/claim', claim],
  ] as const) {
    const refused = await app.inject({ method: 'POST', url, headers: { ...own, 'if-match': '*' } })
    t.equal(refused.statusCode, 412)
    t.match(refused.json(), { code: 'precondition-failed', detail: /without a version/ })
    t.notOk(refused.headers['set-cookie'])
  }
  t.equal((await app.inject({ method: 'POST', url: '/guest/claim', headers: claim })).statusCode, 200)
})

t.test('a write with If-None-Match is refused; date conditions are ignored', async (t) => {
  const { app, etag, version } = await thingApp(t)
  const send = (method: 'PATCH' | 'POST' | 'DELETE', url: string, headers: Record<string, string>) =>
    app.inject({ method, url, headers })
  for (const tag of ['*', '"a"', await etag('/thing')]) {
    for (const [method, url] of [
      ['PATCH', '/thing'],
      ['POST', '/thing'],
      ['DELETE', '/thing'],
      ['POST', '/raw'],
      ['POST', '/guest'],
    ] as const) {
      const refused = await send(method, url, { 'if-none-match': tag })
      t.equal(refused.statusCode, 412, `${method} ${url} ${tag}`)
      t.match(refused.json(), { code: 'precondition-failed', detail: /If-None-Match/ })
    }
  }
  t.equal(await version(), 3)
  t.equal((await send('POST', '/missing', { 'if-none-match': '*' })).statusCode, 404)
  const long = { 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }
  t.equal((await send('POST', '/guest', long)).statusCode, 201)
})

t.test('a read with If-Match returns the named version, or 412', async (t) => {
  const { app, etag } = await thingApp(t)
  const tag = await etag('/thing')
  const get = (url: string, ifMatch: string) => app.inject({ url, headers: { 'if-match': ifMatch } })
  for (const shown of [tag, `"a", ${tag}`, '*']) t.equal((await get('/thing', shown)).statusCode, 200)
  for (const [url, other] of [
    ['/thing', '"a"'],
    ['/thing', `W/${tag}`],
    ['/list', tag],
    ['/own', tag],
  ] as const) {
    const refused = await get(url, other)
    t.equal(refused.statusCode, 412, `${url} ${other}`)
    t.match(refused.json(), { code: 'precondition-failed' })
    t.notOk(refused.headers.etag, 'of what is not shown')
  }
  for (const [url, shown] of [
    ['/list', '*'],
    ['/own', '"own"'],
  ] as const)
    t.equal((await get(url, shown)).statusCode, 200)
})

t.test('a write without request.transaction that ignores If-Match is logged', async (t) => {
  const { app, failures } = await thingApp(t)
  const headers = { 'if-match': '*' }
  t.equal((await app.inject({ method: 'POST', url: '/raw', headers })).statusCode, 200)
  t.match(failures, [/If-Match had no effect/])
  t.equal((await app.inject({ method: 'POST', url: '/raw/compared', headers })).statusCode, 200)
  t.equal((await app.inject({ method: 'POST', url: '/raw' })).statusCode, 200)
  t.equal(failures.length, 1)
})

t.test('one of two changes of the same version is refused', async (t) => {
  const { app, etag, patch, version } = await thingApp(t)
  const tag = await etag('/thing')
  const statuses = (await Promise.all([patch(tag), patch(tag), patch(tag)])).map(
    ({ statusCode }) => statusCode,
  )
  t.same(statuses.sort(), [200, 412, 412])
  t.equal(await version(), 4)
  const deleted = await app.inject({ method: 'DELETE', url: '/thing', headers: { 'if-match': '*' } })
  t.equal(deleted.statusCode, 200)
  t.notOk(deleted.headers.etag, 'what is gone has none')
})
