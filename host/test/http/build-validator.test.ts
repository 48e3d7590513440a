import { Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { buildValidator } from '../../src/http/build-validator.ts'
import { createApp } from './create-app.ts'

t.test('coerces nothing in a body and points at each wrong place', async (t) => {
  const app = await createApp(t)
  const errors = async (payload: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({
      method: 'POST',
      url: '/cart/item',
      headers,
      payload: JSON.stringify(payload),
    })
    t.equal(response.statusCode, 400, JSON.stringify(payload))
    t.equal(response.json().code, 'invalid-request')
    return response.json().errors
  }
  const quantity = [{ pointer: '/quantity', detail: 'must be an integer from 1 to 9999' }]
  for (const value of ['2', null, true, 1.5, 0, -1, 10_000, [1], {}]) {
    t.strictSame(await errors({ product: 'p', quantity: value }), quantity)
  }
  const product = [{ pointer: '/product', detail: 'must be a string of 1 to 128 characters' }]
  for (const value of ['', 'x'.repeat(129), 1, null, ['p']]) {
    t.strictSame(await errors({ product: value, quantity: 1 }), product)
  }
  t.strictSame(await errors({}), [
    { pointer: '/product', detail: 'is required' },
    { pointer: '/quantity', detail: 'is required' },
  ])
  t.strictSame(await errors({ product: 'p', quantity: 1, 'a/b': 1 }), [
    { pointer: '/a~1b', detail: 'is not a known field' },
  ])
  for (const body of [null, [], 'x', 1]) {
    t.strictSame(await errors(body), [{ pointer: '', detail: 'must be an object' }])
  }
})

t.test('counts the length of a string in code points', async (t) => {
  const app = await createApp(t)
  const post = (product: string) =>
    app.inject({ method: 'POST', url: '/cart/item', payload: { product, quantity: 1 } })
  t.equal((await post('😀'.repeat(128))).statusCode, 200)
  t.equal((await post('😀'.repeat(129))).statusCode, 400)
})

t.test('finds every error of a short body, at most twenty, and the first of a long one', async (t) => {
  const app = await createApp(t)
  const post = async (items: unknown[]) => {
    const response = await app.inject({ method: 'POST', url: '/purchase', payload: { items } })
    t.equal(response.statusCode, 400)
    return response.json().errors
  }
  const wrong = { product: 'p', quantity: 0 }
  t.strictSame(
    (await post([wrong, { product: 'p', quantity: 1 }, wrong])).map(
      (error: { pointer: string }) => error.pointer,
    ),
    ['/items/0/quantity', '/items/2/quantity'],
  )
  t.equal((await post(Array(50).fill(wrong))).length, 20)
  t.equal((await post(Array(200).fill({ ...wrong, product: 'x'.repeat(100) }))).length, 1)
})

t.test('says what a union takes, not what each branch lacks', async (t) => {
  const status = Type.Union([Type.Literal('confirmed'), Type.Literal('cancelled'), Type.Null()])
  const validate = compile(Strict({ status }))
  t.strictSame(refusal(validate({ status: 'x' })), [
    { pointer: '/status', detail: 'must be "confirmed", "cancelled" or null' },
  ])
})

t.test('takes a type that may be null', async (t) => {
  const validate = compile(Strict({ name: Type.Unsafe({ type: ['string', 'null'], maxLength: 2 }) }))
  t.equal(validate({ name: null }), true)
  t.strictSame(refusal(validate({ name: 'abc' })), [
    { pointer: '/name', detail: 'must be a string of at most 2 characters or null' },
  ])
})

t.test('says what a name must be, and what a value must not be', async (t) => {
  const name = Type.String({ maxLength: 2, description: 'short' })
  const validate = compile(
    Type.Unsafe({ type: 'object', propertyNames: name, additionalProperties: { not: { enum: ['.'] } } }),
  )
  t.equal(validate({ ab: 1 }), true)
  t.strictSame(refusal(validate({ abc: 1, d: '.' })), [
    { pointer: '/abc', detail: 'is not a name here: it must be a string of at most 2 characters' },
    { pointer: '/d', detail: 'must not be "."' },
  ])
})

t.test('fills in defaults', async (t) => {
  const data = {}
  t.equal(compile(Type.Object({ page: Type.Integer({ default: 1 }) }), 'querystring')(data), true)
  t.strictSame(data, { page: 1 })
})

t.test('resolves the shared schemas of its scope', async (t) => {
  const Quantity = Type.Integer({ $id: 'Quantity', minimum: 1 })
  const compiler = buildValidator({ Quantity })
  const schema = Type.Object({ quantity: Type.Unsafe({ $ref: 'Quantity#' }) })
  const validate = compiler({ schema, method: 'POST', url: '/', httpPart: 'body' })
  t.equal(validate({ quantity: 1 }), true)
  t.strictSame(refusal(validate({ quantity: 0 })), [
    { pointer: '/quantity', detail: 'must be an integer of at least 1' },
  ])
})

t.test('refuses a schema with keywords that it would not enforce', async (t) => {
  t.throws(() => compile(Type.Unsafe({ type: 'object', propertys: {} })), /propertys/)
  t.throws(
    () => compile(Type.Object({ tags: Type.Array(Type.String()) }), 'querystring'),
    /"tags" is of type array/,
  )
})

t.test('reads numbers and booleans of a query, header or path from their exact form only', async (t) => {
  const schema = Type.Object({ price: Type.Optional(Type.Number()), open: Type.Optional(Type.Boolean()) })
  const validate = compile(schema, 'querystring')
  const query = { price: '-1.50', open: 'true' }
  t.equal(validate(query), true)
  t.strictSame(query, { price: -1.5, open: true })
  for (const text of ['1e1', '01', '.5', '1.', ' 1', '+1', '0x1', ''])
    t.not(validate({ price: text }), true, text)
  for (const text of ['1', 'TRUE', 'yes', '']) t.not(validate({ open: text }), true, text)
  t.not(validate({ price: '9007199254740993' }), true, 'a double does not hold it')

  const headers = { 'x-depth': '2', 'x-name': '2' }
  const head = Type.Object({ 'x-depth': Type.Integer(), 'x-name': Type.String() })
  t.equal(compile(head, 'headers')(headers), true)
  t.strictSame(headers, { 'x-depth': 2, 'x-name': '2' })

  const path = { year: '2026' }
  t.equal(compile(Type.Object({ year: Type.Integer() }), 'params')(path), true)
  t.strictSame(path, { year: 2026 })
})

t.test('knows the forms of times, dates and UUIDs', async (t) => {
  const takes = (format: string, text: string) => compile(Type.String({ format }))(text) === true
  t.ok(takes('date-time', '2026-11-21T09:30:00.000Z'))
  t.notOk(takes('date-time', '2026-13-21T09:30:00Z'))
  t.notOk(takes('date-time', '2026-11-21'))
  for (const unreadable of ['2016-12-31T23:59:60Z', '2026-11-21T09:30:00+02'])
    t.notOk(takes('date-time', unreadable), `Date.parse(${unreadable}) is NaN`)
  t.ok(takes('date', '2026-02-28'))
  t.notOk(takes('date', '2026-02-30'))
  t.ok(takes('uuid', '01936d2e-5c3a-7b1e-9f00-0123456789ab'))
  t.notOk(takes('uuid', 'x'))
})

t.test('an id that violates its schema is not found', async (t) => {
  const result = compile(Type.Object({ id: Type.String({ maxLength: 1 }) }), 'params')({ id: 'xx' })
  t.match(result, { error: { status: 404, code: 'not-found' } })
})

function compile(schema: Parameters<ReturnType<typeof buildValidator>>[0]['schema'], httpPart = 'body') {
  return buildValidator({})({ schema, method: 'GET', url: '/x', httpPart })
}

function refusal(result: ReturnType<ReturnType<typeof compile>>): unknown {
  return result === true ? undefined : (result.error as { members?: { errors?: unknown } }).members?.errors
}
