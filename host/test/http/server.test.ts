import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { ProblemDetails } from '@mortise/module-sdk/host'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { constantHeaders } from '../../src/http/head.ts'
import { createApp } from './create-app.ts'
import { dial, exchange, listen, type Reply, responsesIn } from './exchange.ts'

const isProblem = new Ajv().compile(ProblemDetails)
const close = 'Connection: close\r\n'

/** A response must be a whole problem that names its request and ends the connection. */
function refused(t: Test, response: Reply | undefined, status: number, code: string): void {
  if (!response) throw new Error('there is no response')
  const problem = JSON.parse(response.body)
  t.equal(response.status, status)
  t.ok(isProblem(problem), response.body)
  t.match(problem, { status, code, type: `urn:problem-type:host:${code}` })
  t.equal(response.headers['content-type'], 'application/problem+json')
  t.equal(response.headers['request-id'], problem.requestId)
  t.equal(response.headers.connection, 'close')
  t.match(response.headers, constantHeaders)
}

async function serve(t: Test) {
  const app = await createApp(t as never)
  await app.ready()
  return listen(t, app.routing)
}

t.test('malformed HTTP is a problem', async (t) => {
  const server = await serve(t)
  for (const bytes of [
    'garbage\r\n\r\n',
    'GET\r\n\r\n',
    'GET /cart HTTP/1.x\r\nHost: x\r\n\r\n',
    'FOO /cart\r\nHost: x\r\n\r\n',
    'F()O /cart HTTP/1.1\r\nHost: x\r\n\r\n',
    'FOO  /cart HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET\t/cart HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /cart HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
  ]) {
    const responses = await exchange(t, server, bytes)
    t.equal(responses.length, 1, bytes)
    refused(t, responses[0], 400, 'invalid-request')
  }
})

t.test('a method that is unknown to the parser has a response like one without a route', async (t) => {
  const server = await serve(t)
  const get = 'GET /cart HTTP/1.1\r\nHost: x\r\n\r\n'
  for (const method of ['FOO', 'get', 'GETS', 'ANNOUNCE', '__proto__']) {
    const head = (path: string) => `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 38\r\n\r\n`
    const [known, ...more] = await exchange(t, server, head('/cart') + get)
    refused(t, known, 405, 'method-not-allowed')
    t.equal(known?.headers.allow, 'DELETE, GET, HEAD', method)
    t.same(more, [], 'nothing after it is read as HTTP')
    const [before, unknown] = await exchange(t, server, get + head('/nope'))
    t.equal(before?.status, 200)
    refused(t, unknown, 404, 'not-found')
  }
})

t.test('a version other than 1.0 and 1.1 is 505', async (t) => {
  const server = await serve(t)
  for (const head of [
    'GET /cart HTTP/2.0\r\n',
    'GET /cart HTTP/2.0\r\nHost: x\r\n',
    'GET /health/live HTTP/0.9\r\nHost: x\r\n',
    'GET /cart HTTP/9.9\r\nHost: x\r\n',
    'GET /cart HTTP/1.2\r\nHost: x\r\n',
    'FOO /cart HTTP/3.0\r\nHost: x\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n',
  ]) {
    const responses = await exchange(t, server, `${head}\r\n`)
    t.equal(responses.length, 1, head)
    refused(t, responses[0], 505, 'http-version-not-supported')
  }
})

t.test('a head of more than 8 KiB is 431', async (t) => {
  const server = await serve(t)
  for (const bytes of [
    `GET /cart HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
    `GET /cart/item/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]) {
    const [response] = await exchange(t, server, bytes)
    refused(t, response, 431, 'header-fields-too-large')
  }
})

t.test('HTTP/1.1 needs a Host, HTTP/1.0 does not', async (t) => {
  const server = await serve(t)
  const [missing] = await exchange(t, server, 'GET /cart HTTP/1.1\r\nRequest-Id: kept\r\n\r\n')
  refused(t, missing, 400, 'invalid-request')
  t.equal(missing?.headers['request-id'], 'kept')
  t.equal((await exchange(t, server, 'GET /cart HTTP/1.0\r\n\r\n'))[0]?.status, 200)
})

t.test('an unknown expectation is 417, and 100-continue is met', async (t) => {
  const server = await serve(t)
  const head = `POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${close}`
  const body = '{"product":"p","quantity":1}'
  const [unknown] = await exchange(t, server, `${head}Expect: teapot\r\nContent-Length: 2\r\n\r\n{}`)
  refused(t, unknown, 417, 'expectation-failed')
  const responses = await exchange(
    t,
    server,
    `${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  t.strictSame(
    responses.map(({ status }) => status),
    [100, 200],
  )
})

t.test('a request that is refused by its head gets no 100 Continue', async (t) => {
  const server = await serve(t)
  for (const [head, status] of [
    ['POST /nope', 404],
    ['PUT /cart', 405],
    ['POST /cart/item', 413],
  ] as const) {
    const rest = 'Content-Type: application/json\r\nContent-Length: 9999999\r\nExpect: 100-continue'
    const responses = await exchange(t, server, `${head} HTTP/1.1\r\nHost: x\r\n${rest}\r\n\r\n`)
    t.match(responses, [{ status, headers: { connection: 'close' } }])
    t.equal(responses.length, 1)
  }
})

t.test('CONNECT is an ordinary method, and Upgrade is ignored', async (t) => {
  const server = await serve(t)
  const [known] = await exchange(t, server, 'CONNECT /cart HTTP/1.1\r\nHost: x\r\n\r\n')
  refused(t, known, 405, 'method-not-allowed')
  t.equal(known?.headers.allow, 'DELETE, GET, HEAD')
  const [unknown] = await exchange(t, server, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n')
  refused(t, unknown, 404, 'not-found')
  const upgrade = 'GET /cart HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'
  t.equal((await exchange(t, server, upgrade))[0]?.status, 200)
})

t.test('every response that the listener gets is closed, that to CONNECT too', async (t) => {
  const closed: Promise<unknown>[] = []
  const server = await listen(t, (_request, response) => {
    closed.push(once(response, 'close'))
    response.writeHead(404, { 'content-length': 0 }).end()
  })
  for (const method of ['GET', 'CONNECT'])
    await exchange(t, server, `${method} /x HTTP/1.1\r\nHost: x\r\n${close}\r\n`)
  t.equal(closed.length, 2)
  await Promise.all(closed)
})

t.test('an empty chunked body counts as no body', async (t) => {
  const server = await serve(t)
  for (const type of ['application/json', 'text/plain']) {
    const head = `DELETE /cart HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n`
    const [response] = await exchange(t, server, `${head}${close}\r\n0\r\n\r\n`)
    t.equal(response?.body, '{"deleted":true}')
  }
})

t.test('a client that disconnects during its body is not a server failure', async (t) => {
  const log: string[] = []
  const app = await createApp(t as never, { log })
  const failed = Promise.withResolvers<void>()
  app.addHook('onError', async () => failed.resolve())
  await app.ready()
  const arrived = Promise.withResolvers<void>()
  const server = await listen(t, (request, response) => {
    app.routing(request, response)
    request.once('data', () => arrived.resolve())
  })
  const socket = dial(t, server)
  const head = 'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9'
  socket.write(`${head}\r\n\r\n{`)
  await arrived.promise
  socket.destroy()
  await failed.promise
  await new Promise(setImmediate)
  t.strictSame(log, [])
})

t.test('request targets reach the router as they were sent', async (t) => {
  const server = await serve(t)
  for (const [target, status, code] of [
    ['/cart', 200, undefined],
    ['http://anywhere/cart', 200, undefined],
    ['*', 404, 'not-found'],
    ['/cart/../cart', 404, 'not-found'],
    ['/cart/item/', 404, 'not-found'],
    ['/cart/item/..', 404, 'item-not-found'],
    ['/cart/item/%2E%2E', 404, 'item-not-found'],
    ['/cart/item/%ZZ', 404, 'item-not-found'],
    ['/cart/item/%FF', 404, 'item-not-found'],
    ['/cart/item/%00', 404, 'item-not-found'],
    ['/cart/item/a%2Fb', 404, 'item-not-found'],
    ['/cart/item/<"|>', 404, 'item-not-found'],
    [`/cart/item/${'x'.repeat(8000)}`, 404, 'item-not-found'],
    [`/cart/item/${'%'.repeat(8000)}`, 404, 'item-not-found'],
  ] as const) {
    const [response] = await exchange(t, server, `GET ${target} HTTP/1.1\r\nHost: x\r\n${close}\r\n`)
    t.equal(response?.status, status, target.slice(0, 30))
    t.equal(JSON.parse(response?.body ?? '').code, code)
    t.ok(response?.headers['request-id'])
  }
  const [options] = await exchange(t, server, `OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}\r\n`)
  t.equal(options?.status, 404)
})

t.test('the sender of a large body always receives the 413', async (t) => {
  const server = await serve(t)
  const head = `POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
  const read = `GET /cart HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const next = `GET /cart HTTP/1.1\r\nHost: x\r\n${close}\r\n`
  for (const body of [
    `Content-Length: 2000000\r\n\r\n${' '.repeat(2_000_000)}`,
    `Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(30)}0\r\n\r\n`,
  ]) {
    for (const method of [head, read]) {
      const responses = await exchange(t, server, method + body + next)
      t.equal(responses.length, 1, 'and nothing after it is read as HTTP')
      refused(t, responses[0], 413, 'payload-too-large')
    }
  }
})

t.test('bodies on GET and HEAD have the usual limits and types', async (t) => {
  const server = await serve(t)
  const ask = async (head: string, body: string) => {
    const [response] = await exchange(t, server, `${head} HTTP/1.1\r\nHost: x\r\n${close}${body}`)
    return [response?.status, response?.headers.connection]
  }
  const text = 'Content-Type: text/plain\r\n'
  const json = 'Content-Type: application/json\r\n'
  t.same(await ask('GET /cart', `${text}Content-Length: 1\r\n\r\nx`), [415, 'close'])
  t.same(await ask('GET /cart', `${text}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`), [
    415,
    'close',
  ])
  t.same(await ask('GET /cart', `${json}Content-Length: 2\r\n\r\n{}`), [400, 'close'])
  t.same(await ask('GET /cart', `${json}Content-Length: 0\r\n\r\n`), [200, 'close'])
  t.same(await ask('GET /cart', `${text}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`), [200, 'close'])
})

/** Sends chunks until the server takes no more of them. @returns what it responded, and how many bytes it took */
async function sendEndlessly(t: Test, server: Server, head: string) {
  const accepted = once(server, 'connection')
  const socket = dial(t, server)
  socket.on('error', () => {})
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes
  })
  const [connection] = await accepted
  const closed = once(connection, 'close')
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const send = () => {
    while (socket.writable && socket.write(chunk));
  }
  socket.on('drain', send)
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  send()
  await closed
  return { responses: responsesIn(received), taken: (connection as Socket).bytesRead }
}

t.test('an endless body is not read after the response', async (t) => {
  const server = await serve(t)
  for (const [head, status] of [
    ['GET /cart', 413],
    ['GET /health/live', 413],
    ['GET /nope', 404],
    ['PUT /cart', 405],
    ['POST /cart/item', 413],
    ['FOO /cart', 405],
  ] as const) {
    const { responses, taken } = await sendEndlessly(t, server, `${head} HTTP/1.1\r\nHost: x\r\n`)
    t.match(responses, [{ status, headers: { connection: 'close' } }], head)
    t.ok(taken < 8 * 1024 * 1024, `${head}: ${taken} bytes`)
  }
})

t.test('a connection stays open after a refusal with a small body, or announces its close', async (t) => {
  const server = await serve(t)
  const post = (path: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${more}Content-Length: 2\r\n\r\n{}`
  const responses = await exchange(t, server, post('/nope') + post('/cart') + post('/cart?x=1', close))
  t.same(
    responses.map(({ status, headers }) => [status, headers.connection]),
    [
      [404, 'keep-alive'],
      [405, 'keep-alive'],
      [405, 'close'],
    ],
  )
  for (const request of [
    'GET /cart?x=1 HTTP/1.1\r\nHost: x\r\n',
    'POST /cart/item?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: a/b, c/d\r\nContent-Length: 2\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n',
  ]) {
    const [response] = await exchange(t, server, `${request}${close}\r\n{}`)
    t.ok((response?.status ?? 0) >= 400)
    t.equal(response?.headers.connection, 'close', request)
  }
})

t.test('405 and 404 are sent before the body arrives', async (t) => {
  const server = await serve(t)
  const socket = dial(t, server)
  socket.write(
    'PUT /cart HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n',
  )
  const [bytes] = await once(socket, 'data')
  t.equal(responsesIn(String(bytes))[0]?.status, 405)
})

t.test('a refusal waits for the responses to earlier requests', async (t) => {
  const pending: ServerResponse[] = []
  const requests = Promise.withResolvers<void>()
  const server = await listen(t, (_request, response) => {
    pending.push(response)
    if (pending.length === 2) requests.resolve()
  })
  const socket = dial(t, server)
  const refusedFirst = once(server, 'clientError')
  socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\ngarbage\r\n\r\n')
  await Promise.all([requests.promise, refusedFirst])
  const waiting = pending[0]?.listenerCount('close')
  const refusedAgain = once(server, 'clientError')
  socket.write('more garbage\r\n\r\n')
  await refusedAgain
  t.equal(pending[0]?.listenerCount('close'), waiting, 'and is made once, whatever else comes')
  pending[1]?.writeHead(200, { 'content-length': 1 }).end('b')
  pending[0]?.writeHead(200, { 'content-length': 1 }).end('a')
  const responses = responsesIn(await text(socket))
  t.strictSame(
    responses.map(({ status, body }) => (status === 200 ? body : status)),
    ['a', 'b', 400],
  )
})

t.test('a request that does not arrive in time is 408', async (t) => {
  const server = await serve(t)
  server.requestTimeout = 1
  server.headersTimeout = 1
  for (const bytes of [
    'GET /cart HTTP/1.1\r\nHost:',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  ]) {
    const [response] = await exchange(t, server, bytes)
    refused(t, response, 408, 'request-timeout')
  }
})

t.test('ships with the timeouts of the documentation', async (t) => {
  const server = await serve(t)
  t.equal(server.requestTimeout, 10_000)
  t.equal(server.headersTimeout, 5_000)
  t.equal(server.keepAliveTimeout, 10_000)
  t.equal(server.maxConnections, 110, 'with those for health')
})

t.test('idle connections have less time while all are taken', async (t) => {
  const server = await listen(t, (_request, response) => response.end('x'), { maxConnections: 1 })
  const socket = dial(t, server)
  socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
  const [bytes] = await once(socket, 'data')
  t.match(String(bytes), /keep-alive: timeout=2\r\n/i)
  await once(socket, 'close')
})

t.test('outlives a client that resets its connection', async (t) => {
  const server = await serve(t)
  const socket = dial(t, server)
  await once(socket, 'connect')
  socket.write('POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n')
  socket.resetAndDestroy()
  await once(socket, 'close')
  t.equal((await exchange(t, server, `GET /cart HTTP/1.1\r\nHost: x\r\n${close}\r\n`))[0]?.status, 200)
})
