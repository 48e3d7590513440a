import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import {
  Binary,
  type ContractRegistry,
  type CursorPage,
  CursorPageOf,
  eventStream,
  type ModuleInstance,
  many,
  one,
  type Page,
  PageOf,
  respond,
  run,
  sql,
  type Transaction,
} from '../src/index.ts'

// Type test: a route with response schemas may end in request.transaction, however it is written, or in reply.paged.

const Thing = Type.Object({ a: Type.String() })
const schema = { body: Thing, response: { 201: Thing, 409: Type.Object({ code: Type.String() }) } }
const config = { access: 'caller' } as const

// biome-ignore lint/correctness/useYield: only its result matters
function* returning<Result>(result: Result): Transaction<Result> {
  return result
}

export function routes(app: ModuleInstance) {
  app.post('/arrow', { config, schema }, (request) =>
    request.transaction(function* () {
      return respond(201, yield* one<{ a: string }>(sql`SELECT ${request.body.a} AS a`))
    }),
  )
  app.post('/async', { config, schema }, async (request) => {
    return request.transaction(function* () {
      return respond(201, yield* one<{ a: string }>(sql`SELECT ${request.body.a} AS a`))
    })
  })
  app.post('/awaited', { config, schema }, async (request, reply) => {
    await request.transaction(function* () {
      return respond(201, yield* one<{ a: string }>(sql`SELECT ${request.body.a} AS a`))
    })
    return reply
  })
  app.post('/row', { config, schema: { response: { 200: Thing } } }, (request) =>
    request.transaction(function* () {
      return yield* one<{ a: string }>(sql`SELECT a FROM thing`)
    }),
  )
  app.put(
    '/responses',
    { config, schema: { response: { ...schema.response, 200: Thing } } },
    async (request) => {
      const body = { a: 'a' }
      await request.transaction(() => returning(body))
      await request.transaction(() => returning(respond(201, body, { location: '/thing' })))
      await request.transaction(() => returning(body.a === 'b' ? respond(409, { code: 'b' }) : body))
      // @ts-expect-error 202 is not declared
      await request.transaction(() => returning(respond(202, body)))
      // @ts-expect-error 201 has another body
      await request.transaction(() => returning(respond(201, { code: 'b' })))
      // @ts-expect-error 200 has another body
      await request.transaction(() => returning({ code: 'b' }))
    },
  )
  // @ts-expect-error it returns 201, and no 200
  app.put('/created', { config, schema }, (request) => request.transaction(() => returning({ a: 'a' })))
  app.put('/class', { config, schema: { response: { '2xx': Thing } } }, (request) =>
    request.transaction(() => returning(respond(202, { a: 'a' }))),
  )
  app.put('/undeclared', { config }, (request) => request.transaction(() => returning(respond(202, 1))))
  const Row = Type.Object({ id: Type.String() })
  const page = {} as Page<{ id: string }>
  const following = {} as CursorPage<{ id: string }>
  app.get('/pages', { config, schema: { response: { 200: PageOf(Row) } } }, async (_, reply) =>
    reply.paged(page),
  )
  app.get('/cursor', { config, schema: { response: { 200: CursorPageOf(Row) } } }, async ({ id }, reply) =>
    reply.paged(id === '' ? page : following),
  )
  app.get('/pages-only', { config, schema: { response: { 200: PageOf(Row) } } }, async (_, reply) =>
    // @ts-expect-error what follows a cursor has no total
    reply.paged(following),
  )
  const image = { summary: 'An image', response: { 200: Binary('image/png') } }
  app.get('/bytes', { config, schema: image }, async (_, reply) => {
    reply.type('image/png')
    return Buffer.from('')
  })
  app.get('/stream', { config, schema: image }, async (_, reply) => {
    reply.type('image/png')
    return Readable.from([])
  })
  app.get('/sent', { config, schema: image }, (_, reply) => {
    reply.type('image/png').send(Readable.from([]))
  })
  // @ts-expect-error an object is no bytes
  app.get('/json', { config, schema: image }, async () => ({ a: 'a' }))
  app.get('/events', { config, schema: { summary: 'Follow', ...eventStream } }, (_, reply) =>
    reply.streamEvents({ types: ['thing.made'] }),
  )
  app.get('/more', { config, schema: { summary: 'Follow', ...eventStream } }, async (_, reply) =>
    reply.streamEvents(),
  )
  // @ts-expect-error a route has an access
  app.get('/open', { config: {} }, () => {})
  // @ts-expect-error a scope has a colon
  app.get('/scope', { config: { access: 'reader' } }, () => {})
  app.addHook('onRequest', async (request) => {
    // @ts-expect-error the host decides who is calling
    request.caller = { id: 'user:a:b', kind: 'user', has: () => true }
  })
}

declare module '../src/contracts.ts' {
  interface Contracts {
    readonly 'type-test': { readonly price: number }
  }
}

export function contracts(registry: ContractRegistry): number {
  // @ts-expect-error nobody may provide it
  registry.get('type-test').price
  return registry.required('type-test').price
}

export function* steps(): Transaction<number> {
  const rows = yield* many<{ a: string }>(sql`SELECT a`)
  // @ts-expect-error a row has what its type says
  rows[0]?.b
  const changes: number = yield* run(sql`DELETE`)
  // @ts-expect-error what a raw step returns is unknown
  const raw: number = yield { query: sql`DELETE`, want: 'changes' }
  return changes + raw
}
