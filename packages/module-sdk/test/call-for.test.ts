import t from 'tap'
import { callFor, Problem } from '../src/index.ts'

const socket = { remoteAddress: '192.0.2.1' } as never
const headersOf = (headers: Readonly<Record<string, string>>) =>
  callFor({ headers, socket }, { method: 'GET', path: '/' }).headers

t.test('a call has what a route may decide by, and nothing of the message', (t) => {
  const client = {
    ...{
      authorization: 'Bearer a',
      'guest-token': 'b',
      host: 'shop.example',
      origin: 'https://shop.example',
    },
    ...{
      'x-real-ip': '1',
      forwarded: 'for=1',
      via: '1.1 a',
      'x-forwarded-for': '1',
      'x-forwarded-proto': 'https',
    },
    ...{ 'cf-connecting-ip': '1', 'sec-fetch-site': 'same-origin', traceparent: '00', 'user-agent': 'agent' },
  }
  const message = {
    ...{ 'content-type': 'text/plain', 'content-length': '3', 'content-encoding': 'br', accept: 'text/html' },
    ...{
      'accept-encoding': 'br',
      cookie: 'guest=a',
      connection: 'close',
      te: 'trailers',
      expect: '100-continue',
    },
    ...{ 'transfer-encoding': 'chunked', 'if-match': '"1"', 'if-none-match': '"1"', 'idempotency-key': 'k' },
    ...{
      'mcp-session-id': 's',
      range: 'bytes=0-1',
      prefer: 'a',
      'last-event-id': '1',
      'proxy-authorization': 'a',
    },
  }
  t.same(headersOf({ ...client, ...message }), client)
  const call = callFor(
    { headers: client, socket },
    { method: 'POST', path: '/cart', headers: { accept: 'a/b' }, body: '{}' },
  )
  t.match(call, { method: 'POST', path: '/cart', body: '{}', remoteAddress: '192.0.2.1' })
  t.match(call.headers, { accept: 'a/b', host: 'shop.example' }, 'its own headers are added')
  t.end()
})

t.test('a path that would be routed as another one is refused', (t) => {
  const call = (path: string) => callFor({ headers: {}, socket }, { method: 'GET', path })
  for (const path of [
    '/',
    '/a/b?c=d/../e',
    '/a%2F..%2Fb',
    '/%E0%A4%A/x',
    '/a..b/...',
    '/ä/"<>',
    '/a;b,c@d:e',
    '//a',
    '/%2561',
  ])
    t.equal(call(path).path, path)
  for (const path of [
    '',
    'a',
    '/..',
    '/a/../b',
    '/a/.',
    '/%2e%2E/b',
    '/.%2e',
    '/a\\b',
    '/..\\a',
    '/a#b',
    '/a?b#c',
    '/a\tb',
    '/a\n',
    '/a ',
  ])
    t.throws(() => call(path), Problem, JSON.stringify(path))
  t.end()
})
