import {
  currentTime,
  DAY,
  DatabaseError,
  IdParams,
  many,
  one,
  type RouteResponse,
  respond,
  run,
  Strict,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { defineProblems } from '@mortise/module-sdk/host'
import { BrokenStorageError, type Storage } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import type { Test } from 'tap'
import { startProxy } from '../../../packages/storage/test/postgres/proxy.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { forgetExpired } from '../../src/requests/idempotency-records.ts'
import { bearer, setCookies, type TestAppOptions, testApp } from '../callers/test-app.ts'
import { type Open, testOnEngines, testOnPostgres } from '../engines.ts'

const NOTE = 'CREATE TABLE note (owner TEXT NOT NULL, text TEXT NOT NULL)'
const problems = defineProblems('test', {
  bad: { status: 400, title: 'It is bad' },
  full: { status: 409, title: 'It is full' },
  slow: { status: 429, title: 'It is too much' },
  broken: { status: 503, title: 'It is broken' },
})

/** A header that is undefined is not sent. */
type Sent = Omit<InjectOptions, 'headers'> & { headers?: Record<string, string | undefined> }
type Steps = (request: FastifyRequest) => Transaction<RouteResponse>

function* addNote({ caller, body }: FastifyRequest): Transaction<RouteResponse> {
  const { text } = body as { text: string }
  yield* run(sql`INSERT INTO note (owner, text) VALUES (${caller.id}, ${text})`)
  const { count } = yield* one<{ count: number }>(sql`SELECT count(*) AS count FROM note`)
  return respond(
    201,
    { id: `note_${count}`, version: 1, text },
    { location: '/note/1', 'x-count': String(count) },
  )
}

/** A database with the host's tables and one for notes. */
async function noteStorage(open: Open): Promise<Storage> {
  const storage = await open(NOTE)
  await storage.migrate([hostMigrations])
  return storage
}

/** An application on `storage` that writes notes, and a caller of it. */
async function noteApp(
  t: Test,
  storage: Storage,
  steps: Steps = addNote,
  options: Partial<TestAppOptions> = {},
) {
  const body = Strict({ text: Type.String() })
  const { app, failures } = await testApp(t, {
    ...options,
    storage,
    routes: (app: FastifyInstance) => {
      const config = { access: 'caller', module: 'note' } as const
      const write = (request: FastifyRequest) => request.transaction(() => steps(request))
      app.post('/note', { config, schema: { body } }, write)
      app.post('/other', { config, schema: { body } }, write)
      app.patch('/note/:id', { config, schema: { body, params: IdParams } }, write)
      app.post('/open', { config: { access: 'public' }, schema: { body } }, (request) =>
        request.transaction(function* () {
          yield* run(sql`INSERT INTO note VALUES ('nobody', 'open')`)
          return respond(200, {})
        }),
      )
      app.put('/note/:id', { config, schema: { body, params: IdParams } }, write)
      app.delete('/note/:id', { config, schema: { params: IdParams } }, write)
      app.post('/plain', { config }, write)
      app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, text, done) =>
        done(null, { text }),
      )
      app.addContentTypeParser('text/event-stream', (_request, payload, done) => done(null, payload))
      app.post('/by-itself', { config, schema: { body } }, async () => ({ done: true }))
    },
  })
  const ann = { authorization: await bearer('ann') }
  const post = (key: string, { headers, ...rest }: Sent = {}) => {
    const all = Object.entries({ ...ann, 'idempotency-key': key, ...headers })
    return app.inject({
      method: 'POST',
      url: '/note',
      payload: { text: 'hello' },
      headers: Object.fromEntries(all.filter(([, value]) => value !== undefined)),
      ...rest,
    })
  }
  const get = (key: string, headers: Record<string, string> = ann) =>
    app.inject({ url: `/idempotency/${key}`, headers })
  return { app, failures, post, get }
}

const notes = async (storage: Storage) =>
  (await storage.one<{ count: number }>(sql`SELECT count(*) AS count FROM note`)).count
const records = (storage: Storage) =>
  storage.many<{ status: number; headers: string }>(sql`SELECT status, headers FROM mortise_idempotency`)

/** All of a response that is repeated. */
const repeated = ({ statusCode, headers, rawPayload }: Awaited<ReturnType<FastifyInstance['inject']>>) => ({
  statusCode,
  body: rawPayload.toString(),
  type: headers['content-type'],
  location: headers.location,
  etag: headers.etag,
  count: headers['x-count'],
})

testOnEngines('a body that a parser of the module has read is compared too', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage)
  const plain = (payload: string, type = 'text/csv') =>
    post('k', { url: '/plain', payload, headers: { 'content-type': type } })
  t.equal((await plain('one')).statusCode, 201)
  t.equal((await plain('one')).headers['idempotent-replayed'], 'true')
  t.match((await plain('two')).json(), { status: 422, code: 'idempotency-mismatch' })
  t.match(
    (await plain('one', 'text/event-stream')).json(),
    { status: 400, errors: [{ parameter: 'Idempotency-Key' }] },
    'nobody knows what a stream will be',
  )
  t.equal(await notes(storage), 1)
})

testOnEngines('a request is done once, and its response repeated to the byte', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage, addNote, { basePath: '' })
  const first = await post('k')
  t.equal(first.statusCode, 201)
  t.match(first.headers.etag, /^"note_1:1:[\w-]{27}"$/)
  t.notOk(first.headers['idempotent-replayed'])
  const again = await noteApp(t, storage)
  for (const next of [await post('k'), await post('"k"'), await again.post('k')]) {
    t.same(repeated(next), repeated(first))
    t.equal(next.headers['idempotent-replayed'], 'true')
    t.not(next.headers['request-id'], first.headers['request-id'])
  }
  t.equal(await notes(storage), 1)
})

testOnEngines('a repeated PATCH, PUT or DELETE is done once too', async (t, open) => {
  const storage = await noteStorage(open)
  const { get, post } = await noteApp(t, storage, function* (request) {
    return yield* addNote({ ...request, caller: request.caller, body: { text: request.method } } as never)
  })
  for (const [index, method] of (['PATCH', 'PUT', 'DELETE'] as const).entries()) {
    const payload = method === 'DELETE' ? '' : { text: 'hello' }
    const request = { method, url: '/note/note_1', payload } as const
    const first = await post('k', request)
    t.equal(first.statusCode, 201, first.body)
    const next = await post('k', request)
    t.same(repeated(next), repeated(first))
    t.equal(next.headers['idempotent-replayed'], 'true')
    t.equal(await notes(storage), index + 1)
    const other = await post('k', { ...request, url: '/note/note_2' })
    t.match(other.json(), { status: 422, code: 'idempotency-mismatch' })
  }
  const { state, responses } = (await get('k')).json()
  t.equal(state, 'done')
  t.equal(responses.length, 3, 'one for each method')
})

testOnEngines('a stored response needs the scopes that it was decided with', async (t, open) => {
  const storage = await noteStorage(open)
  const { post, get } = await noteApp(t, storage, function* (request) {
    const { caller, body } = request
    caller.has('note:lacked')
    const sees = caller.has('note:read') && caller.has('note:manage')
    if ((body as { text: string }).text === 'full') throw problems.create('full', 'It is full.')
    const { status, headers } = yield* addNote(request)
    return respond(status, { text: 'hello', sees }, headers)
  })
  const by = async (scope?: string) => ({ headers: { authorization: await bearer('ann', scope) } })
  for (const text of ['hello', 'full']) {
    const payload = { text }
    const first = await post(text, { payload, ...(await by('note:read note:manage')) })
    t.equal(first.statusCode, text === 'full' ? 409 : 201)
    for (const [scope, missing] of [
      [undefined, 'note:read'],
      ['note:read note:lacked', 'note:manage'],
    ]) {
      const refused = await post(text, { payload, ...(await by(scope)) })
      t.match(refused.json(), { status: 403, code: 'insufficient-scope', detail: new RegExp(`${missing}`) })
      t.match(refused.headers['www-authenticate'], new RegExp(`scope="${missing}"`))
      t.notOk(refused.headers['idempotent-replayed'])
      t.notOk(refused.headers.location)
    }
    for (const scope of ['note:read note:manage note:lacked', 'admin'])
      t.same(repeated(await post(text, { payload, ...(await by(scope)) })), repeated(first))
    t.equal((await get(text)).json().state, 'done', 'what became of it is reported in any case')
  }
  const narrow = await post('k')
  t.same(repeated(await post('k')), repeated(narrow), 'what took no scope takes none')
  t.same(repeated(await post('k', await by('admin'))), repeated(narrow))
  t.equal(await notes(storage), 2)
})

testOnEngines('a key belongs to its caller and route', async (t, open) => {
  const storage = await noteStorage(open)
  const { app, post } = await noteApp(t, storage)
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const ben = { authorization: await bearer('ben') }
  const requests: Sent[] = [
    {},
    { headers: ben },
    { headers: { authorization: undefined, 'guest-token': token } },
    { url: '/other' },
    { url: '/note/1', method: 'PATCH' },
  ]
  for (const request of requests) {
    const response = await post('k', request)
    t.equal(response.statusCode, 201)
    t.notOk(response.headers['idempotent-replayed'])
  }
  t.equal(await notes(storage), requests.length)
})

testOnEngines('another body, path or If-Match is a mismatch, and does nothing', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage)
  await post('k')
  await post('p', { method: 'PATCH', url: '/note/1' })
  const others: [string, Sent][] = [
    ['k', { payload: { text: 'hullo' } }],
    ['k', { headers: { 'if-match': '"a"' } }],
    ['p', { method: 'PATCH', url: '/note/2' }],
  ]
  for (const [key, request] of others) {
    const response = await post(key, request)
    t.equal(response.statusCode, 422)
    t.match(response.json(), {
      code: 'idempotency-mismatch',
      detail: /Repeat the earlier request exactly, or use a new key/,
    })
    t.notOk(response.headers['idempotent-replayed'])
  }
  t.equal((await post('k')).statusCode, 201, 'what was kept stays')
  t.equal(await notes(storage), 2)
})

testOnEngines(
  'a refusal by the rules is kept, with its requestId, and leaves nothing else',
  async (t, open) => {
    const storage = await noteStorage(open)
    let full = true
    const { post } = await noteApp(t, storage, function* (request) {
      const responded = yield* addNote(request)
      if (full) throw problems.create('full', 'No room.', { headers: { 'retry-after': '9' } })
      return responded
    })
    const first = await post('k')
    t.equal(first.statusCode, 409)
    t.equal(first.headers['content-type'], 'application/problem+json')
    t.equal(first.json().requestId, first.headers['request-id'])
    full = false
    const second = await post('k')
    t.same(repeated(second), repeated(first))
    t.equal(second.headers['idempotent-replayed'], 'true')
    t.equal(second.headers['retry-after'], '9')
    t.equal(await notes(storage), 0)
  },
)

testOnEngines('an error with a statusCode is kept like a refusal, and undone', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage, function* (request) {
    yield* addNote(request)
    throw Object.assign(new Error('No room.'), { statusCode: 409 })
  })
  const first = await post('k')
  t.match(first.json(), { status: 409, code: 'conflict', detail: 'No room.' })
  const second = await post('k')
  t.same(repeated(second), repeated(first))
  t.equal(second.headers['idempotent-replayed'], 'true')
  t.equal(await notes(storage), 0)
})

testOnEngines('a response is repeated, whatever the steps would say by now', async (t, open) => {
  const storage = await noteStorage(open)
  let then: Steps = addNote
  const { post } = await noteApp(t, storage, (request) => then(request))
  const first = repeated(await post('again'))
  const later: Record<string, Steps> = {
    // biome-ignore lint/correctness/useYield: a problem before any statement
    *'is kept'() {
      throw problems.create('full', 'No.')
    },
    *'is not kept'() {
      yield* run(sql`INSERT INTO note VALUES ('ann', 'undone')`)
      throw problems.create('broken', 'No.')
    },
    *'is a returned failure'() {
      yield* run(sql`INSERT INTO note VALUES ('ann', 'undone')`)
      return respond(503, {})
    },
    *'is a failed statement'() {
      yield* run(sql`INSERT INTO note VALUES (${null}, 'undone')`)
      return respond(200, {})
    },
  }
  for (const [name, steps] of Object.entries(later)) {
    then = steps
    t.same(repeated(await post('again')), first, name)
  }
  t.equal(await notes(storage), 1)
})

testOnEngines('responses that may change next time are not stored', async (t, open) => {
  const storage = await noteStorage(open)
  const thrown: [number, () => unknown][] = [
    [400, () => problems.create('bad', 'No.')],
    [429, () => problems.create('slow', 'No.')],
    [429, () => Object.assign(new Error('No.'), { statusCode: 429 })],
    [401, () => Object.assign(new Error('No.'), { statusCode: 401 })],
    [503, () => problems.create('broken', 'No.')],
    [500, () => new Error('expected by the test')],
  ]
  let error: (() => unknown) | undefined
  const { post } = await noteApp(t, storage, function* (request) {
    const responded = yield* addNote(request)
    if (error) throw error()
    return responded
  })
  for (const [status, create] of thrown) {
    error = create
    t.equal((await post('k')).statusCode, status)
  }
  t.equal(
    (await post('k', { payload: '{', headers: { 'content-type': 'application/json' } })).statusCode,
    400,
  )
  t.equal((await post('k', { payload: 'x', headers: { 'content-type': 'text/plain' } })).statusCode, 415)
  t.equal((await post('k', { headers: { authorization: 'Bearer x' } })).statusCode, 401)
  t.same(await records(storage), [])
  error = undefined
  t.equal((await post('k')).headers['idempotent-replayed'], undefined)
  t.equal(await notes(storage), 1)
})

testOnEngines('a returned failure is not stored either', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage, function* (request) {
    yield* addNote(request)
    return respond(503, { text: 'later' })
  })
  t.equal((await post('k')).statusCode, 503)
  t.equal((await post('k')).statusCode, 503)
  t.same(await records(storage), [])
  t.equal(await notes(storage), 2)
})

testOnEngines('a guest token is in no idempotency record and in no replayed response', async (t, open) => {
  const storage = await noteStorage(open)
  const { app, post } = await noteApp(t, storage, function* (request) {
    const { body } = yield* addNote(request)
    return respond(201, body, { 'Set-Cookie': 'a=secret', 'guest-token': 'secret', 'x-kept': 'yes' })
  })
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const headers = { authorization: undefined, cookie: `guest=${token}` }
  const first = await post('k', { headers })
  t.equal(setCookies(first).length, 2)
  const second = await post('k', { headers })
  t.equal(second.headers['idempotent-replayed'], 'true')
  t.equal(second.headers['x-kept'], 'yes')
  t.strictSame([setCookies(second), second.headers['guest-token']], [[], undefined])
  t.notMatch(JSON.stringify(await records(storage)), /secret|cookie|token/i)
})

testOnEngines('without credentials a key protects nothing', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage)
  for (const _ of [1, 2]) {
    const response = await post('k', { headers: { authorization: undefined } })
    t.equal(response.statusCode, 201)
    t.ok(response.headers['guest-token'])
    t.equal((await post('k', { url: '/open', headers: { authorization: undefined } })).statusCode, 200)
  }
  t.equal(await notes(storage), 4)
  t.same(await records(storage), [])
  t.equal((await post('a b', { headers: { authorization: undefined } })).statusCode, 400)
})

testOnEngines('twenty concurrent duplicates on two hosts are one request', async (t, open) => {
  const storage = await noteStorage(open)
  const hosts = [await noteApp(t, storage), await noteApp(t, storage)]
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, index) => (hosts[index % 2] as (typeof hosts)[0]).post('k')),
  )
  t.equal(new Set(responses.map((response) => JSON.stringify(repeated(response)))).size, 1)
  t.equal(responses.filter(({ headers }) => headers['idempotent-replayed'] === undefined).length, 1)
  t.equal(await notes(storage), 1)
})

testOnEngines('a stored response expires after a day', async (t, open) => {
  const storage = await noteStorage(open)
  const { post, get } = await noteApp(t, storage)
  await post('k')
  const age = (ms: number) =>
    storage.transaction(() => run(sql`UPDATE mortise_idempotency SET created_at = ${currentTime() - ms}`))
  await age(DAY - 60_000)
  t.equal((await post('k')).headers['idempotent-replayed'], 'true')
  await storage.transaction(() => forgetExpired())
  await age(DAY)
  t.equal((await post('k')).headers['idempotent-replayed'], 'true', 'a clock that is ahead repeats nothing')
  await storage.transaction(() => forgetExpired())
  t.equal((await get('k')).json().state, 'unknown')
  t.notOk((await post('k')).headers['idempotent-replayed'])
  t.equal((await post('k')).headers['idempotent-replayed'], 'true')
  t.equal(await notes(storage), 2)
})

testOnEngines('expired records are deleted a few at a time, and no others', async (t, open) => {
  const storage = await noteStorage(open)
  await storage.transaction(function* () {
    for (let number = 0; number < 126; number++) {
      const age = number === 0 ? DAY - 60_000 : DAY
      yield* run(sql`
        INSERT INTO mortise_idempotency
          (caller, idempotency_key, route, fingerprint, status, headers, body, created_at)
        VALUES ('ann', ${`k${number}`}, 'POST /note', 'f', 200, '{}', NULL, ${currentTime() - age})`)
    }
  })
  const sizes: number[] = []
  for (let more = true; more; ) {
    const before = (await records(storage)).length
    more = await storage.transaction(() => forgetExpired())
    sizes.push(before - (await records(storage)).length)
  }
  t.same(sizes, [50, 50, 25])
  t.same(await storage.many(sql`SELECT idempotency_key AS key FROM mortise_idempotency`), [{ key: 'k0' }])
})

testOnEngines('GET /idempotency/:key shows a caller what became of its key', async (t, open) => {
  const storage = await noteStorage(open)
  const { post, get } = await noteApp(t, storage)
  await post('k')
  await post('k', { url: '/other' })
  const { key, state, responses } = (await get('k')).json()
  t.same([key, state], ['k', 'done'])
  t.match(responses, [
    { route: 'POST /note', status: 201, location: '/note/1', createdAt: /Z$/, expiresAt: /Z$/ },
    { route: 'POST /other' },
  ])
  t.equal(Date.parse(responses[0].expiresAt) - Date.parse(responses[0].createdAt), DAY)
  const unknown = { state: 'unknown', responses: [] }
  t.match((await get('k', { authorization: await bearer('ben') })).json(), unknown)
  t.match((await get('k', {})).json(), unknown)
  t.match((await get('l')).json(), unknown)
})

testOnEngines('a module that ignores Idempotency-Key is named in the log', async (t, open) => {
  const { post, failures } = await noteApp(t, await noteStorage(open))
  t.equal((await post('k', { url: '/by-itself' })).statusCode, 200)
  t.match(failures, [/Idempotency-Key had no effect/])
  await post('k')
  t.equal(failures.length, 1)
})

testOnPostgres('a duplicate of a slow request gets 409, and the response later', async (t, open) => {
  const storage = await noteStorage(open)
  const started = Promise.withResolvers<void>()
  const { post } = await noteApp(t, storage, function* (request) {
    const responded = yield* addNote(request)
    started.resolve()
    yield* many(sql`SELECT pg_sleep(4)`)
    return responded
  })
  const other = await noteApp(t, storage)
  const first = post('k')
  await started.promise
  t.match((await other.get('k')).json(), { state: 'running', responses: [] })
  const duplicate = await other.post('k')
  t.equal(duplicate.statusCode, 409)
  t.equal(duplicate.json().code, 'idempotency-running')
  t.equal(duplicate.headers['retry-after'], '1')
  t.same(repeated(await other.post('k')), repeated(await first))
  t.match((await other.get('k')).json(), { state: 'done' })
  t.equal(await notes(storage), 1)
})

for (const when of ['delivered', 'undelivered'] as const) {
  testOnPostgres(`a COMMIT without a response is looked up by the key (${when})`, async (t, open, url) => {
    const storage = await noteStorage(open)
    const proxy = await startProxy(t, url)
    const behind = await openStorage({ url: proxy.url, onFatal: t.fail })
    t.teardown(() => behind.close())
    const { post } = await noteApp(t, behind)
    proxy.cutAt('COMMIT', when)
    const first = await post('k')
    t.equal(first.statusCode, 201)
    t.same(repeated(await post('k')), repeated(first))
    t.equal(await notes(storage), 1)
    proxy.cutAt('COMMIT', when)
    const unprotected = await post('k', { headers: { 'idempotency-key': undefined } })
    t.equal(unprotected.json().code, 'outcome-unknown')
  })
}

testOnEngines('a request does not wait for an outcome that needs a restart', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage)
  let asked = 0
  storage.transaction = async () => {
    asked += 1
    throw new BrokenStorageError('the disk is gone', {}, 'unknown-outcome')
  }
  const response = await post('k')
  t.match([response.statusCode, response.json().code], [500, 'outcome-unknown'])
  t.equal(asked, 1)
})

testOnEngines('an outcome stays unknown if it cannot be read', async (t, open) => {
  const storage = await noteStorage(open)
  const { post } = await noteApp(t, storage)
  const { transaction } = storage
  let asked = 0
  storage.transaction = async () => {
    throw new DatabaseError(++asked === 1 ? 'unknown-outcome' : 'unavailable', 'the server is away')
  }
  const response = await post('k')
  t.equal(response.statusCode, 500)
  t.match(response.json(), {
    code: 'outcome-unknown',
    detail: /Repeat the request with the same Idempotency-Key/,
  })
  t.ok(asked > 2)
  storage.transaction = async () => {
    throw new DatabaseError('unavailable', 'the server is away')
  }
  t.equal((await post('k')).json().code, 'database-unavailable', 'nothing was begun')
  storage.transaction = transaction
  t.equal((await post('k')).statusCode, 201)
})
