import t from 'tap'
import { createApp } from './create-app.ts'

const item = JSON.stringify({ product: 'p', quantity: 1 })

t.test('takes JSON in UTF-8, in every spelling of its media type', async (t) => {
  const app = await createApp(t)
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; x=y',
  ]) {
    const response = await app.inject({
      method: 'POST',
      url: '/cart/item',
      headers: { 'content-type': type },
      payload: item,
    })
    t.equal(response.statusCode, 200, type)
    t.strictSame(response.json().body, JSON.parse(item))
  }
})

t.test('validates every body that it takes, whatever its content type looks like', async (t) => {
  const app = await createApp(t)
  for (const type of [
    'application/json',
    'application/json\t',
    '\tapplication/json',
    'application/json\t; charset=utf-8',
    'APPLICATION/json;',
    'application/json;garbage',
    'application/json ;charset=utf-8;charset=utf-16',
    'application/json a',
    'application/json\ta',
    'application/json, text/plain',
    'application/jsonx',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'garbage',
    '',
  ]) {
    const { statusCode, headers } = await app.inject({
      method: 'POST',
      url: '/cart/item',
      headers: { 'content-type': type },
      payload: '{"product":"p","quantity":1,"admin":true}',
    })
    t.ok(statusCode === 400 || statusCode === 415, `${JSON.stringify(type)}: ${statusCode}`)
    t.equal(headers['content-type'], 'application/problem+json')
  }
})

t.test('refuses a body of another type, charset or encoding', async (t) => {
  const app = await createApp(t)
  for (const headers of [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/json; charset=utf-8; charset=latin1' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    {},
  ]) {
    const response = await app.inject({
      method: 'POST',
      url: '/cart/item',
      headers: headers as never,
      payload: Buffer.from(item),
    })
    t.equal(response.statusCode, 415, JSON.stringify(headers))
    t.equal(response.json().code, 'unsupported-media-type')
  }
})

t.test('takes an empty body on DELETE for none, whatever its content type says', async (t) => {
  const app = await createApp(t)
  for (const type of ['application/json', 'text/plain', 'garbage', undefined]) {
    for (const length of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }, {}]) {
      const headers = { ...(type && { 'content-type': type }), ...length }
      const response = await app.inject({ method: 'DELETE', url: '/cart', headers })
      t.equal(response.statusCode, 200, JSON.stringify(headers))
      t.strictSame(response.json(), { deleted: true })
    }
  }
})

t.test('refuses a body where a route takes none', async (t) => {
  const app = await createApp(t)
  const response = await app.inject({ method: 'DELETE', url: '/cart', payload: { all: true } })
  t.equal(response.statusCode, 400)
  t.strictSame(response.json().errors, [{ pointer: '', detail: 'must be empty' }])
  const text = await app.inject({
    method: 'DELETE',
    url: '/cart',
    headers: { 'content-type': 'text/plain' },
    payload: 'x',
  })
  t.equal(text.statusCode, 415)
})

t.test('points at the whole body where there is none', async (t) => {
  const app = await createApp(t)
  for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'text/plain' }]) {
    const response = await app.inject({ method: 'POST', url: '/cart/item', headers: headers as never })
    t.equal(response.statusCode, 400, JSON.stringify(headers))
    t.strictSame(response.json().errors, [{ pointer: '', detail: 'must be an object' }])
  }
})

t.test('takes 384 KiB and no more', async (t) => {
  const app = await createApp(t)
  const body = (length: number) => `${' '.repeat(length - item.length)}${item}`
  const post = (payload: string) =>
    app.inject({
      method: 'POST',
      url: '/cart/item',
      headers: { 'content-type': 'application/json' },
      payload,
    })
  t.equal((await post(body(384 * 1024))).statusCode, 200)
  const refused = await post(body(384 * 1024 + 1))
  t.equal(refused.statusCode, 413)
  t.equal(refused.json().code, 'payload-too-large')
})

t.test('points at invalid JSON that JSON.parse would accept silently', async (t) => {
  const app = await createApp(t)
  const post = (payload: string | Buffer) =>
    app.inject({
      method: 'POST',
      url: '/cart/item',
      headers: { 'content-type': 'application/json' },
      payload,
    })
  for (const [body, pointer] of [
    ['{"product":"p","quantity":1,"quantity":2}', '/quantity'],
    ['{"product":"p","quantity":1,"__proto__":{}}', '/__proto__'],
    ['{"product":"\\ud800","quantity":1}', '/product'],
    ['['.repeat(190_000) + ']'.repeat(190_000), ''],
    ['{"product":', ''],
  ] as const) {
    const response = await post(body)
    t.equal(response.statusCode, 400)
    t.equal(response.json().errors[0].pointer, pointer)
  }
  t.equal((await post(Buffer.from([0x7b, 0xff, 0x7d]))).statusCode, 400)
})
