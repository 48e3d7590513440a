import { DAY, sql } from '@mortise/module-sdk'
import t from 'tap'
import { bearer, setCookies, testApp } from '../callers/test-app.ts'

const routes = () => {}
const json = { 'content-type': 'application/json' }

t.test('POST /guest issues a token in body and cookie, with nothing sent or {}', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const sent = [{}, { body: '{}', headers: json }, { headers: json }, { headers: { cookie: 'guest=x' } }]
  for (const request of sent) {
    const before = Date.now()
    const response = await app.inject({ method: 'POST', url: '/guest', ...request })
    t.equal(response.statusCode, 201)
    const { token, expiresAt, ...rest } = response.json()
    t.strictSame(rest, {})
    t.match(token, /^[\w-]{43}$/)
    t.equal(new Date(expiresAt).toISOString(), expiresAt)
    t.ok(Date.parse(expiresAt) >= before + 30 * DAY && Date.parse(expiresAt) <= Date.now() + 30 * DAY)
    t.strictSame(setCookies(response), [`guest=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax`])
    t.equal(response.headers['cache-control'], 'no-store')
  }
  const rows = await storage.many(sql`SELECT token_hash FROM mortise_guest`)
  t.equal(new Set(rows.map((row) => JSON.stringify(row))).size, sent.length)
})

t.test('POST /guest takes no fields, no other body and no parameters', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  for (const body of ['{"id":1}', '{"token":"x"}', 'null', '[]', '""', '0', '{', '{"__proto__":{}}']) {
    const response = await app.inject({ method: 'POST', url: '/guest', body, headers: json })
    t.equal(response.statusCode, 400, body)
    t.strictSame(setCookies(response), [])
  }
  t.equal((await app.inject({ method: 'POST', url: '/guest?a=b' })).statusCode, 400)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await app.inject({ method: 'POST', url: '/guest', body: 'a=b', headers: form })).statusCode, 415)
  t.equal((await app.inject('/guest')).statusCode, 405)
  t.strictSame(await storage.many(sql`SELECT id FROM mortise_guest`), [])
})

t.test('a guest that cannot be stored is not issued', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  storage.transaction = () => Promise.reject(new Error('disk'))
  const response = await app.inject({ method: 'POST', url: '/guest' })
  t.equal(response.statusCode, 500)
  t.strictSame(setCookies(response), [])
})

t.test('neither route of guests takes an Idempotency-Key', async (t) => {
  const { app, storage } = await testApp(t, { routes })
  const { token } = (await app.inject({ method: 'POST', url: '/guest' })).json()
  const claim = { authorization: await bearer('ann'), 'guest-token': token }
  for (const [url, own] of [
    ['/guest', {}],
    ['/guest', { 'guest-token': token }],
    ['/guest/claim', claim],
  ] as const) {
    for (const key of ['k', '"k"', 'a b', '']) {
      const response = await app.inject({ method: 'POST', url, headers: { ...own, 'idempotency-key': key } })
      t.equal(response.statusCode, 400, `${url} ${key}`)
      t.match(response.json(), { code: 'invalid-request', errors: [{ parameter: 'Idempotency-Key' }] })
      t.strictSame(setCookies(response), [])
    }
  }
  t.equal((await storage.many(sql`SELECT id FROM mortise_guest WHERE claimed_by IS NULL`)).length, 1)
  t.equal((await app.inject({ method: 'POST', url: '/guest/claim', headers: claim })).statusCode, 200)
})
