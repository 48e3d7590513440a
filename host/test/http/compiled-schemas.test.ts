import Fastify from 'fastify'
import { pino } from 'pino'
import t from 'tap'
import { CompiledSchemas } from '../../src/http/compiled-schemas.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'

t.test('a schema is compiled once for the schemas that it may refer to', async (t) => {
  const schemas = new CompiledSchemas<number>()
  let compiled = 0
  const compile = () => ++compiled
  const scope = schemas.of({ a: { $id: 'a' } })
  t.equal(scope({ type: 'object' }, compile), 1)
  t.equal(schemas.of({ a: { $id: 'a' } })({ type: 'object' }, compile), 1, 'in another generation')
  t.equal(scope({ type: 'string' }, compile), 2)
  t.equal(schemas.of({ a: { $id: 'a', type: 'string' } })({ type: 'object' }, compile), 3)
})

t.test('instances that share compiled schemas check and respond by their own', async (t) => {
  const instance = async (most: number) => {
    const app = Fastify(fastifyOptions({ logger: pino({ level: 'silent' }), trustProxy: [] }))
    t.teardown(() => app.close())
    app.addSchema({ $id: 'Note', type: 'object', properties: { text: { type: 'string', maxLength: most } } })
    const response = { 200: { type: 'object', properties: { text: { type: 'string' } } } }
    app.post('/note', { schema: { body: { $ref: 'Note#' }, response } }, async ({ body }) => body)
    return async (text: string) => {
      const { statusCode, body } = await app.inject({
        method: 'POST',
        url: '/note',
        payload: { text, more: 1 },
      })
      return statusCode === 200 ? body : statusCode
    }
  }
  const [short, long] = [await instance(3), await instance(30)]
  t.equal(await short('abc'), '{"text":"abc"}')
  t.equal(await long('abcdef'), '{"text":"abcdef"}')
  t.equal(await short('abcdef'), 400)
})

t.test('a broken schema fails the start, or where schemas are compiled lazily, its route', async (t) => {
  const instance = (lazy: boolean) => {
    const app = Fastify(fastifyOptions({ logger: pino({ level: 'silent' }), trustProxy: [], lazy }))
    t.teardown(() => app.close())
    const broken = { type: 'object', properties: { text: { $ref: 'Nowhere#' } } }
    const whole = { type: 'object', properties: { text: { type: 'string' } } }
    app.post('/body', { schema: { body: broken } }, async () => ({}))
    app.get('/response', { schema: { response: { 200: broken } } }, async () => ({ text: 'a' }))
    app.post('/note', { schema: { body: whole, response: { 200: whole } } }, async ({ body }) => body)
    return app
  }
  await t.rejects(async () => await instance(false).ready(), /Nowhere/)
  const app = instance(true)
  const post = async (url: string, payload: object) => {
    const { statusCode, body } = await app.inject({ method: 'POST', url, payload })
    return [statusCode, body]
  }
  t.match(await post('/body', { text: 'a' }), [500, /Nowhere/])
  t.equal((await app.inject('/response')).statusCode, 500)
  t.strictSame(await post('/note', { text: 'a', more: 1 }), [200, '{"text":"a"}'])
  t.match(await post('/note', { text: 1 }), [400])
})
