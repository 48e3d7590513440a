import t, { type Test } from 'tap'
import { createTestHost } from '../src/index.ts'
import { manifestOf, packageFolder } from './package-folder.ts'

// A protocol that prescribes its own form of errors, 409 for a reused key, and a document below
// /.well-known, where another module has one too.

const checkout = (t: Test) =>
  packageFolder(t, {
    'package.json': manifestOf({
      id: 'checkout',
      routes: ['GET /.well-known/checkout', 'PUT /checkout/:id', 'GET /checkout/:id'],
    }),
    'index.js': `
      import { defineModule, IdParams, respond, Strict } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'

      const Message = Type.Object({ messages: Type.Array(Type.Object({ code: Type.String(), text: Type.String() })) })
      const problemForm = ({ code, detail, errors = [] }) => {
        if (detail.includes('no form')) throw new Error('it fails')
        return {
          status: code === 'idempotency-mismatch' ? 409 : undefined,
          contentType: 'application/vnd.checkout+json',
          body: { messages: [{ code, text: errors[0]?.detail ?? detail }] },
        }
      }
      const config = { access: 'caller', problemForm }
      const Checkout = Type.Object({ id: Type.String(), count: Type.Integer() })
      const response = { 200: Checkout, 400: Message, 409: Message }
      let count = 0

      export default defineModule('checkout', { problems: { full: { status: 409, title: 'It is full' } } })
        .plugin(async (app) => {
          app.get('/.well-known/checkout',
            { config: { access: 'public' }, schema: { response: { 200: Type.Object({ version: Type.String() }) } } },
            async (_request, reply) => reply.header('cache-control', 'public, max-age=60').send({ version: '1' }))
          app.put('/checkout/:id',
            { config, schema: { params: IdParams, body: Strict({ line: Type.String() }), response } },
            (request) => request.transaction(function* () {
              const { id } = request.params
              return respond(200, { id, count: ++count })
            }))
          app.get('/checkout/:id', { config, schema: { params: IdParams, response } }, async ({ params }) => {
            if (params.id === 'broken') throw Object.assign(new Error('no form'), { statusCode: 409 })
            return { id: params.id, count }
          })
        })`,
  })

const login = (t: Test) =>
  packageFolder(t, {
    'package.json': manifestOf({ id: 'login', routes: ['GET /.well-known/login'] }),
    'index.js': `export default async (app) => {
      app.get('/.well-known/login',
        { config: { access: 'public' }, schema: { response: { 200: { type: 'object', properties: {} } } } },
        async () => ({}))
    }`,
  })

t.test('a module speaks a foreign protocol', async (t) => {
  const modules = [{ directory: await checkout(t) }, { directory: await login(t) }]
  const { app, user } = await createTestHost(t, { modules })
  const ann = user('ann')
  const put = (line: unknown, key?: string) =>
    ann.request('PUT', '/checkout/a', { line }, key === undefined ? {} : { 'idempotency-key': key })

  await t.test('each has its document below /.well-known', async (t) => {
    const own = await ann.get('/.well-known/checkout')
    t.match(own, { statusCode: 200, headers: { 'cache-control': 'public, max-age=60' } })
    t.equal((await ann.get('/.well-known/login')).statusCode, 200)
    t.match(await ann.get('/.well-known'), { statusCode: 404 })
  })

  await t.test('a PUT with a key takes effect once', async (t) => {
    const first = await put('tea', 'k1')
    t.equal(first.statusCode, 200)
    const again = await put('tea', 'k1')
    t.equal(again.body, first.body)
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.not((await put('tea', 'k3')).body, first.body, 'which another key does not replay')
  })

  await t.test('a reused key has the status and the form of the protocol', async (t) => {
    const reused = await put('coffee', 'k1')
    t.match(reused, { statusCode: 409, headers: { 'content-type': 'application/vnd.checkout+json' } })
    t.match(reused.json(), { messages: [{ code: 'idempotency-mismatch', text: /used for another PUT/ }] })
  })

  await t.test('so has what the host refuses', async (t) => {
    const invalid = await put(7)
    t.match(invalid, { statusCode: 400, headers: { 'content-type': 'application/vnd.checkout+json' } })
    t.same(invalid.json(), { messages: [{ code: 'invalid-request', text: 'must be a string' }] })
    const unknown = await app.inject({
      url: '/checkout/a',
      headers: { authorization: 'Bearer no' },
    })
    t.match(unknown, { statusCode: 401, headers: { 'www-authenticate': /Bearer/ } })
    t.match(unknown.json(), { messages: [{ code: 'unauthorized' }] })
    t.match(await ann.request('GET', '/checkout/a', undefined, { 'idempotency-key': 'k2' }), {
      statusCode: 400,
      headers: { 'content-type': 'application/vnd.checkout+json' },
    })
  })

  await t.test('a form that fails gives problem details', async (t) => {
    const broken = await ann.get('/checkout/broken')
    t.match(broken, { statusCode: 409, headers: { 'content-type': 'application/problem+json' } })
  })

  await t.test('the document declares what the module declares', async (t) => {
    const { paths } = (await ann.get('/openapi.json')).json()
    const { responses } = paths['/checkout/{id}'].put
    t.same(Object.keys(responses), ['200', '400', '409', 'default'])
    t.ok(responses[409].content['application/json'])
  })
})

t.test('a read takes no key: nothing would be kept', async (t) => {
  const { user } = await createTestHost(t, { modules: [{ directory: await login(t) }] })
  for (const path of ['/.well-known/login', '/health/ready', '/openapi.json']) {
    const refused = await user('ann').request('GET', path, undefined, { 'idempotency-key': 'k1' })
    t.match(refused, { statusCode: 400 }, path)
    t.match(refused.json(), { code: 'invalid-request', errors: [{ parameter: 'Idempotency-Key' }] }, path)
  }
})
