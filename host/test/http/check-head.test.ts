import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { createApp } from './create-app.ts'
import { exchange, listen } from './exchange.ts'

const host = 'Host: x\r\n'
const close = 'Connection: close\r\n'
const json = 'Content-Type: application/json\r\n'

async function serve(t: Test) {
  const app = await createApp(t as never)
  await app.ready()
  return listen(t, app.routing)
}

/** What a server returns to a head, and which one came after it: the connection must end. */
async function responseTo(t: Test, server: Awaited<ReturnType<typeof serve>>, head: string) {
  const responses = await exchange(t, server, `${head}\r\n0\r\n\r\nGET /cart HTTP/1.1\r\n${host}\r\n`)
  t.equal(responses.length, 1, head)
  const [response] = responses
  const problem = JSON.parse(response?.body as string)
  t.equal(response?.headers['request-id'], problem.requestId, head)
  t.equal(response?.headers['content-type'], 'application/problem+json', head)
  t.equal(response?.headers.connection, 'close', head)
  t.equal(problem.status, response?.status, head)
  return `${problem.status} ${problem.code}`
}

t.test('two Host headers, an invalid one and two Content-Type are 400', async (t) => {
  const server = await serve(t)
  const filling = 'a:\r\n'.repeat(1_990)
  for (const head of [
    `GET /cart HTTP/1.1\r\n${host}${host}`,
    `GET /cart HTTP/1.1\r\n${host}HOST: y\r\n`,
    `GET /cart HTTP/1.0\r\n${host}host: y\r\n`,
    `GET /health/live HTTP/1.1\r\n${host}${host}`,
    `GET /c HTTP/1.1\r\nHost:x\r\n${filling}${'b:\r\n'.repeat(15)}Host:y\r\n`,
    `POST /cart/item HTTP/1.1\r\n${host}${json}Content-type: text/plain\r\nTransfer-Encoding: chunked\r\n`,
    `GET http:///cart HTTP/1.1\r\n${host}`,
    `GET http://x:port/cart HTTP/1.1\r\n${host}`,
    `GET http://user@x/cart HTTP/1.1\r\n${host}`,
    ...[
      '',
      'a b',
      'a/b',
      'a?b',
      'a#b',
      'user@a',
      'a,b',
      'a, b',
      'a:b',
      'a:65536',
      'a:1:2',
      'a:-1',
      ':80',
      '::1',
      '[::1',
      '[1]',
      '[::1]x',
      '[fe80::1%25a]',
      'a%zz',
      'a"',
      'a\\b',
      'a\u00fc',
    ].map((value) => `GET /cart HTTP/1.1\r\nHost: ${value}\r\n`),
  ])
    t.equal(await responseTo(t, server, head), '400 invalid-request', head)
})

t.test('hosts with and without a port are accepted', async (t) => {
  const server = await serve(t)
  for (const value of [
    'a',
    'A.example:8080',
    'a:',
    'a_b',
    'a.',
    '127.0.0.1:1',
    '[::1]',
    '[2001:db8::1]:443',
    '%41',
    "!$&'()*+;=~",
  ]) {
    const [response] = await exchange(t, server, `GET /cart HTTP/1.1\r\nHost: ${value}\r\n${close}\r\n`)
    t.equal(response?.status, 200, value)
  }
})

t.test('a transfer encoding other than chunked is 501', async (t) => {
  const server = await serve(t)
  for (const path of ['/cart', '/health/live']) {
    for (const encoding of [
      'gzip, chunked',
      'gzip',
      'chunked, gzip',
      'chunked, chunked',
      'chunked;a=b',
      ',chunked',
      'identity',
      'gzip\r\nTransfer-Encoding: chunked',
      'chunked\r\nTransfer-Encoding: gzip',
    ]) {
      const head = `DELETE ${path} HTTP/1.1\r\n${host}Transfer-Encoding: ${encoding}\r\n`
      t.equal(await responseTo(t, server, head), '501 unsupported-transfer-encoding', head)
    }
  }
  for (const encoding of ['Chunked', '\t chunked  ']) {
    const chunked = `DELETE /cart HTTP/1.1\r\n${host}${json}${close}Transfer-Encoding: ${encoding}\r\n\r\n0\r\n\r\n`
    t.equal((await exchange(t, server, chunked))[0]?.status, 200, encoding)
  }
})

t.test('faulty framing stays 400', async (t) => {
  const server = await serve(t)
  for (const framing of [
    'Transfer-Encoding: gzip\r\nContent-Length: 5\r\n',
    'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding:\r\n',
    'Content-Length: 5\r\nContent-Length: 5\r\n',
    'Content-Length: 5, 5\r\n',
  ]) {
    const head = `DELETE /cart HTTP/1.1\r\n${host}${framing}`
    t.equal(await responseTo(t, server, head), '400 invalid-request', head)
  }
  const old = `DELETE /cart HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n`
  t.equal(await responseTo(t, server, old), '400 invalid-request')
})

t.test('the authority of an absolute target takes the place of Host', async (t) => {
  const hosts: (string | undefined)[] = []
  const server = await listen(t, ({ headers }: IncomingMessage, response) => {
    hosts.push(headers.host)
    response.setHeader('content-length', 0).end()
  })
  for (const target of ['/cart', 'http://y:81/cart', 'HTTPS://z'])
    await exchange(t, server, `GET ${target} HTTP/1.1\r\n${host}${close}\r\n`)
  await exchange(t, server, `GET http://old/cart HTTP/1.0\r\n\r\n`)
  t.same(hosts, ['x', 'y:81', 'z', 'old'])
})
