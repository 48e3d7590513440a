import t from 'tap'
import { requestId } from '../../src/http/head.ts'
import { createApp } from './create-app.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

t.test('keeps a valid incoming id and replaces every other', async (t) => {
  for (const id of ['a', '01936d2e-5c3a', 'a/b:c=[d]{e}~!#$%&()*+;<>?@^_`|', 'x'.repeat(128)]) {
    t.equal(requestId({ headers: { 'request-id': id } }), id)
  }
  for (const id of ['', ' ', 'a b', 'a,b', '"a"', "'a'", 'a\\b', 'é', 'a\tb', 'x'.repeat(129), undefined]) {
    t.match(requestId({ headers: { ...(id !== undefined && { 'request-id': id }) } }), uuid)
  }
  t.match(requestId({ headers: { 'request-id': ['a', 'b'] } } as never), uuid)
})

t.test('returns it on every response', async (t) => {
  const app = await createApp(t)
  for (const url of [
    '/',
    '/cart',
    '/nope',
    '/cart/',
    '/cart?x=1',
    '/cart/item/x',
    `/cart/item/${'x'.repeat(30_000)}`,
  ]) {
    const kept = await app.inject({ url, headers: { 'request-id': 'kept-1' } })
    t.equal(kept.headers['request-id'], 'kept-1', url.slice(0, 20))
    const made = await app.inject({ url, headers: { 'request-id': 'not kept' } })
    t.match(made.headers['request-id'], uuid)
  }
})
