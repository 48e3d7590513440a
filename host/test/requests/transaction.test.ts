import {
  DAY,
  many,
  one,
  Problem,
  type RouteResponse,
  respond,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { defineProblems } from '@mortise/module-sdk/host'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import t, { type Test } from 'tap'
import { bearer, setCookies, type TestAppOptions, testApp } from '../callers/test-app.ts'

const problems = defineProblems('test', { full: { status: 409, title: 'It is full' } })
const Note = Type.Object({ id: Type.Integer(), text: Type.String() }, { additionalProperties: false })

const add = (owner: string) =>
  one<{ id: number; text: string }>(
    sql`INSERT INTO note (owner, text) VALUES (${owner}, 'hello') RETURNING id, text`,
  )

type Steps = (request: FastifyRequest) => Transaction<unknown>

/** An application with one route, `POST /note`, whose write is `steps`. */
async function noteApp(
  t: Test,
  steps: Steps,
  options: Partial<TestAppOptions> & { schema?: FastifySchema } = {},
) {
  const { schema = {}, ...rest } = options
  const made = await testApp(t, {
    ...rest,
    routes: (app: FastifyInstance) => {
      app.post('/note', { config: { access: 'caller' }, schema }, (request) =>
        request.transaction(() => steps(request) as Transaction<RouteResponse>),
      )
      app.post('/hook', { config: { access: 'public' } }, (request) =>
        request.transaction(() => steps(request) as Transaction<RouteResponse>),
      )
      app.get('/me', { config: { access: 'caller' } }, async (request) => request.caller.id)
    },
  })
  await made.storage.transaction(() =>
    run(
      sql`CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, text TEXT NOT NULL)`,
    ),
  )
  const post = (headers: Record<string, string> = {}) =>
    made.app.inject({ method: 'POST', url: '/note', headers })
  const owners = async () =>
    (await made.storage.many<{ owner: string }>(sql`SELECT owner FROM note ORDER BY id`)).map(
      (row) => row.owner,
    )
  const guests = () =>
    made.storage.many<{ id: string; expires_at: number }>(sql`SELECT id, expires_at FROM mortise_guest`)
  return { ...made, post, owners, guests }
}

function* addNote({ caller }: FastifyRequest): Transaction<RouteResponse> {
  const note = yield* add(caller.id)
  return respond(201, note, { location: `/note/${note.id}`, 'x-extra': 'yes' })
}

t.test('the first write of someone new makes a guest, by header and cookie', async (t) => {
  const { app, post, owners, guests } = await noteApp(t, addNote)
  const response = await post()
  t.equal(response.statusCode, 201)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(response.headers.location, '/note/1')
  t.equal(response.headers['x-extra'], 'yes')
  t.strictSame(response.json(), { id: 1, text: 'hello' })
  const token = response.headers['guest-token'] as string
  t.strictSame(setCookies(response), [`guest=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`])
  t.equal((await guests()).length, 1)
  const me = await app.inject({ url: '/me', headers: { 'guest-token': token } })
  t.strictSame(await owners(), [me.body])
})

t.test('a known guest keeps its identity; its cookie is renewed if it sent one', async (t) => {
  const { post, owners, guests } = await noteApp(t, addNote)
  const token = (await post()).headers['guest-token'] as string
  const [byHeader, byCookie] = [
    await post({ 'guest-token': token }),
    await post({ cookie: `guest=${token}` }),
  ]
  t.notOk(byHeader.headers['guest-token'])
  t.strictSame(setCookies(byHeader), [])
  t.notOk(byCookie.headers['guest-token'])
  t.strictSame(setCookies(byCookie), [`guest=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`])
  t.equal((await guests()).length, 1)
  t.equal(new Set(await owners()).size, 1)
})

t.test('every successful write extends the guest by 30 days', async (t) => {
  let fail = false
  const { post, storage, guests } = await noteApp(t, function* (request) {
    if (fail) throw problems.create('full', 'No room.')
    return yield* addNote(request)
  })
  const token = (await post()).headers['guest-token'] as string
  const soon = Date.now() + 60_000
  await storage.transaction(() => run(sql`UPDATE mortise_guest SET expires_at = ${soon}`))
  fail = true
  t.equal((await post({ 'guest-token': token })).statusCode, 409)
  t.equal((await guests())[0]?.expires_at, soon)
  fail = false
  const before = Date.now()
  t.equal((await post({ 'guest-token': token })).statusCode, 201)
  t.ok(((await guests())[0]?.expires_at ?? 0) >= before + 30 * DAY)
})

t.test('a write of a user makes no guest', async (t) => {
  const { post, owners, guests } = await noteApp(t, addNote)
  const response = await post({ authorization: await bearer('ann') })
  t.equal(response.statusCode, 201)
  t.notOk(response.headers['guest-token'])
  t.strictSame(setCookies(response), [])
  t.strictSame(await owners(), ['user:urn%3Atest%3Aapplication:ann'])
  t.strictSame(await guests(), [])
})

t.test('a problem undoes everything and becomes the response', async (t) => {
  const { post, owners, guests } = await noteApp(t, function* ({ caller }) {
    yield* add(caller.id)
    throw problems.create('full', 'No room.', { members: { limit: 1 }, headers: { 'retry-after': '9' } })
  })
  const response = await post()
  t.equal(response.statusCode, 409)
  t.match(response.json(), { type: 'urn:problem-type:test:full', limit: 1 })
  t.equal(response.headers['retry-after'], '9')
  t.notOk(response.headers['guest-token'])
  t.strictSame(setCookies(response), [])
  t.strictSame([await owners(), await guests()], [[], []])
})

t.test('a response that cannot be sent undoes everything', async (t) => {
  const schema = { response: { 201: Note, 202: {} } }
  const wrong: [string, (note: object) => unknown, RegExp][] = [
    ['no response', (note) => note, /must return respond\(status, body\)/],
    ['nothing', () => undefined, /must return respond\(status, body\)/],
    ['a body without a required field', () => respond(201, { id: 1 }), /"text" is required/],
    ['a body that is no JSON', () => respond(202, { n: 1n }), /BigInt/],
    [
      'a status without a schema',
      (note) => respond(200, note),
      /POST \S+ returns 200, .* add 200 to schema.response/,
    ],
    ['a status that is none', (note) => respond(99, note), /status from 200 to 599, not 99/],
    ['a status of no final response', (note) => respond(102, note), /not 102/],
    ['a header of two lines', (note) => respond(201, note, { 'x-a': 'b\r\nc: d' }), /Invalid character/],
    ['a header without a name', (note) => respond(201, note, { '': 'b' }), /Header name/],
    ['a location of two lines', (note) => respond(201, note, { location: '/a\nb' }), /Invalid character/],
  ]
  for (const [name, responded, message] of wrong) {
    await t.test(name, async (t) => {
      const steps: Steps = function* ({ caller }) {
        return responded(yield* add(caller.id))
      }
      const { post, owners, guests, failures } = await noteApp(t, steps, { schema })
      const response = await post()
      t.equal(response.statusCode, 500)
      t.match(failures, [message])
      t.notOk(response.headers['guest-token'])
      t.notOk(response.headers.location)
      t.strictSame(setCookies(response), [])
      t.strictSame([await owners(), await guests()], [[], []])
    })
  }
})

t.test('a plain body becomes a 200', async (t) => {
  const note = { id: 1, text: 'a', secret: 'b' }
  const schema = { response: { 200: Note } }
  for (const [options, text] of [
    [{ schema }, '{"id":1,"text":"a"}'],
    [{}, JSON.stringify(note)],
  ] as const) {
    const { post } = await noteApp(
      t,
      function* ({ caller }) {
        yield* add(caller.id)
        return note
      },
      options,
    )
    const response = await post()
    t.equal(response.statusCode, 200)
    t.equal(response.body, text)
  }
})

t.test('the body is serialized with the schema of its status', async (t) => {
  const body = { id: 1, text: 'a', secret: 'b' }
  const shown = '{"id":1,"text":"a"}'
  const cases: [FastifySchema['response'], number, string][] = [
    [{ 201: Note }, 201, shown],
    [{ '2xx': Note }, 202, shown],
    [{ default: Note }, 200, shown],
    [{ 200: Type.Object({}), '2xx': Note }, 201, shown],
    [{ 409: { content: { 'application/problem+json': { schema: Note } } }, 200: Note }, 200, shown],
    [undefined, 200, JSON.stringify(body)],
  ]
  for (const [response, status, text] of cases) {
    const { post } = await noteApp(
      t,
      function* () {
        yield* many(sql`SELECT 1`)
        return respond(status, body)
      },
      { schema: response ? { response } : {} },
    )
    const responded = await post()
    t.equal(responded.statusCode, status)
    t.equal(responded.body, text)
    t.equal(responded.headers['content-type'], 'application/json; charset=utf-8')
  }
})

t.test('a response without a body stays without one', async (t) => {
  const { post } = await noteApp(t, function* () {
    yield* many(sql`SELECT 1`)
    return respond(204, undefined)
  })
  const response = await post()
  t.equal(response.statusCode, 204)
  t.equal(response.body, '')
  t.notOk(response.headers['content-type'])
})

t.test('a write without an effect issues a guest too; a failure does not', async (t) => {
  let status = 200
  const { post, guests } = await noteApp(t, function* () {
    yield* many(sql`SELECT 1`)
    return respond(status, { deleted: true })
  })
  t.ok((await post()).headers['guest-token'])
  status = 404
  const response = await post()
  t.equal(response.statusCode, 404)
  t.notOk(response.headers['guest-token'])
  t.strictSame(setCookies(response), [])
  t.equal((await guests()).length, 1)
})

t.test('the base path is added to a Location of the module, and to no other', async (t) => {
  let location = '/note/1'
  const { app } = await noteApp(
    t,
    function* ({ caller }) {
      return respond(201, yield* add(caller.id), { location })
    },
    { basePath: '/api/v1' },
  )
  const post = async () => (await app.inject({ method: 'POST', url: '/api/v1/note' })).headers.location
  t.equal(await post(), '/api/v1/note/1')
  location = 'https://elsewhere.example/note/1'
  t.equal(await post(), location)
})

t.test('a public route writes without a guest', async (t) => {
  const { app, owners, guests } = await noteApp(t, function* () {
    return respond(200, yield* add('hook'))
  })
  const response = await app.inject({ method: 'POST', url: '/hook' })
  t.equal(response.statusCode, 200)
  t.notOk(response.headers['guest-token'])
  t.strictSame([await owners(), await guests()], [['hook'], []])
})

t.test('a generator that runs twice has one effect, one guest and one response', async (t) => {
  let runs = 0
  const { app, post, owners, guests } = await noteApp(
    t,
    function* (request) {
      runs += 1
      const responded = yield* addNote(request)
      return runs === 1 ? respond(418, { first: true }, { 'x-first': 'yes' }) : responded
    },
    { rehearse: true },
  )
  const response = await post()
  t.equal(runs, 2)
  t.equal(response.statusCode, 201)
  t.notOk(response.headers['x-first'])
  t.strictSame(response.json(), { id: 1, text: 'hello' })
  t.equal((await guests()).length, 1)
  const token = response.headers['guest-token'] as string
  const me = await app.inject({ url: '/me', headers: { 'guest-token': token } })
  t.strictSame(await owners(), [me.body])
})

t.test('a function that is not a generator is refused with a hint, before it runs', async (t) => {
  let began = false
  const wrong = [
    async () => {
      began = true
    },
    () => Promise.reject(new Error('unheard')),
    () => undefined,
    undefined,
  ]
  const { app, failures } = await testApp(t, {
    routes: (app: FastifyInstance) => {
      for (const [index, steps] of wrong.entries()) {
        app.post(`/${index}`, { config: { access: 'caller' } }, (request) =>
          request.transaction(steps as never),
        )
      }
    },
  })
  for (const index of wrong.keys()) {
    t.equal((await app.inject({ method: 'POST', url: `/${index}` })).statusCode, 500)
    t.match(failures.at(-1), /takes a generator: write transaction\(function\* \(\) \{ … \}\)/)
  }
  t.notOk(began)
})

t.test('a request has one transaction; after one that failed it may try another', async (t) => {
  const { app, storage, failures } = await testApp(t, {
    routes: (app: FastifyInstance) => {
      const config = { access: 'caller' } as const
      const steps = (text: string, fails = false) =>
        function* () {
          yield* run(sql`INSERT INTO note VALUES (${text})`)
          if (fails) throw problems.create('full', 'No room.')
          return respond(200, { text })
        }
      app.post('/twice', { config }, async (request) => {
        await request.transaction(steps('a'))
        return request.transaction(steps('b'))
      })
      app.post('/at-once', { config }, async (request) => {
        const [, second] = await Promise.allSettled([
          request.transaction(steps('c')),
          request.transaction(steps('d')),
        ])
        failures.push(String((second as PromiseRejectedResult).reason?.message))
      })
      app.post('/again', { config }, (request) =>
        request.transaction(steps('e', true)).catch((error) => {
          if (!(error instanceof Problem)) throw error
          return request.transaction(steps('f'))
        }),
      )
    },
  })
  await storage.transaction(() => run(sql`CREATE TABLE note (text TEXT NOT NULL)`))
  const post = (url: string) => app.inject({ method: 'POST', url })
  t.equal((await post('/twice')).body, '{"text":"a"}')
  t.equal((await post('/at-once')).body, '{"text":"c"}')
  t.equal((await post('/again')).body, '{"text":"f"}')
  t.strictSame(await storage.many(sql`SELECT text FROM note`), [{ text: 'a' }, { text: 'c' }, { text: 'f' }])
  t.match(failures, [/called twice/])
})

t.test('nothing is sent before the commit, and no success after a failed commit', async (t) => {
  const { post, storage } = await noteApp(t, addNote)
  const begun = Promise.withResolvers<void>()
  const commit = Promise.withResolvers<void>()
  const { transaction } = storage
  storage.transaction = async (steps) => {
    const result = await transaction.call(storage, steps)
    begun.resolve()
    await commit.promise
    return result as never
  }
  let responded = false
  const pending = post().then((response) => {
    responded = true
    return response
  })
  await begun.promise
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  t.notOk(responded)
  commit.reject(new Error('the disk is gone'))
  const response = await pending
  t.equal(response.statusCode, 500)
  t.notOk(response.headers.location)
  t.notOk(response.headers['guest-token'])
  t.strictSame(setCookies(response), [])
})

/** Has every guest vanish or expire between the moment a request was let in and its transaction. */
async function vanishing(t: Test, retire: ReturnType<typeof sql>) {
  const made = await noteApp(t, addNote)
  const token = (await made.post()).headers['guest-token'] as string
  const { transaction } = made.storage
  let done = false
  made.storage.transaction = async (steps) => {
    if (!done) await transaction.call(made.storage, () => run(retire))
    done = true
    return transaction.call(made.storage, steps) as never
  }
  return { ...made, token }
}

for (const [how, retire] of [
  ['vanishes', sql`DELETE FROM mortise_guest`],
  ['expires', sql`UPDATE mortise_guest SET expires_at = 1`],
  ['is claimed', sql`UPDATE mortise_guest SET claimed_by = 'user:ann'`],
] as const) {
  t.test(`a guest of the header that ${how} meanwhile is refused`, async (t) => {
    const { post, token, owners } = await vanishing(t, retire)
    const response = await post({ 'guest-token': token })
    t.equal(response.statusCode, 401)
    t.strictSame(setCookies(response), [])
    t.equal((await owners()).length, 1, 'only what was before')
  })

  t.test(`a guest of the cookie that ${how} meanwhile is refused, and the cookie cleared`, async (t) => {
    const { post, token, owners } = await vanishing(t, retire)
    const response = await post({ cookie: `guest=${token}` })
    t.equal(response.statusCode, 401)
    t.notOk(response.headers['guest-token'])
    t.match(setCookies(response), [/^guest=; Max-Age=0; .*Path=\/; .*HttpOnly; SameSite=Lax$/])
    t.equal((await owners()).length, 1, 'only what was before')
  })
}

t.test('32 concurrent first writes of different clients make 32 guests', async (t) => {
  const { post, owners, guests } = await noteApp(t, addNote)
  const responses = await Promise.all(Array.from({ length: 32 }, () => post()))
  t.equal(new Set(responses.map((response) => response.headers['guest-token'])).size, 32)
  t.equal(new Set(await owners()).size, 32)
  t.equal((await guests()).length, 32)
})
