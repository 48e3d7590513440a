import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { ProblemDetails } from '@mortise/module-sdk'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { constantHeaders } from '../../src/http/security-headers.ts'
import { createApp } from './create-app.ts'
import { type Answer, answersIn, dial, exchange, listen } from './exchange.ts'

const isProblem = new Ajv().compile(ProblemDetails)
const close = 'Connection: close\r\n'

/** An answer must be a whole problem that names its request and ends the connection. */
function refused(t: Test, answer: Answer | undefined, status: number, code: string): void {
  if (!answer) throw new Error('there is no answer')
  const problem = JSON.parse(answer.body)
  t.equal(answer.status, status)
  t.ok(isProblem(problem), answer.body)
  t.match(problem, { status, code, type: `urn:problem-type:host:${code}` })
  t.equal(answer.headers['content-type'], 'application/problem+json')
  t.equal(answer.headers['request-id'], problem.requestId)
  t.equal(answer.headers.connection, 'close')
  t.match(answer.headers, constantHeaders)
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
    'GET /cart HTTP/9.9\r\nHost: x\r\n\r\n',
    'FOO /cart HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /cart HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
  ]) {
    const answers = await exchange(t, server, bytes)
    t.equal(answers.length, 1, bytes)
    refused(t, answers[0], 400, 'invalid-request')
  }
})

t.test('a head of more than 8 KiB is 431', async (t) => {
  const server = await serve(t)
  for (const bytes of [
    `GET /cart HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
    `GET /cart/item/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]) {
    const [answer] = await exchange(t, server, bytes)
    refused(t, answer, 431, 'header-fields-too-large')
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
  const answers = await exchange(
    t,
    server,
    `${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  t.strictSame(
    answers.map(({ status }) => status),
    [100, 200],
  )
})

t.test('CONNECT is a method like others, and Upgrade is ignored', async (t) => {
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

t.test('a chunked body that is empty is none', async (t) => {
  const server = await serve(t)
  for (const type of ['application/json', 'text/plain']) {
    const head = `DELETE /cart HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n`
    const [answer] = await exchange(t, server, `${head}${close}\r\n0\r\n\r\n`)
    t.equal(answer?.body, '{"deleted":true}')
  }
})

t.test('a sender that goes away amid its body is no failure of the server', async (t) => {
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
    const [answer] = await exchange(t, server, `GET ${target} HTTP/1.1\r\nHost: x\r\n${close}\r\n`)
    t.equal(answer?.status, status, target.slice(0, 30))
    t.equal(JSON.parse(answer?.body ?? '').code, code)
    t.ok(answer?.headers['request-id'])
  }
  const [options] = await exchange(t, server, `OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}\r\n`)
  t.equal(options?.status, 404)
})

t.test('a sender of too large a body reads its 413, however it sends', async (t) => {
  const server = await serve(t)
  const head = `POST /cart/item HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const next = `GET /cart HTTP/1.1\r\nHost: x\r\n${close}\r\n`
  for (const body of [
    `Content-Length: 2000000\r\n\r\n${' '.repeat(2_000_000)}`,
    `Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(30)}0\r\n\r\n`,
  ]) {
    const answers = await exchange(t, server, head + body + next)
    t.strictSame(
      answers.map(({ status }) => status),
      [413, 200],
      'and the connection stays usable',
    )
  }
})

t.test('405 and 404 do not wait for a body', async (t) => {
  const server = await serve(t)
  const socket = dial(t, server)
  socket.write(
    'PUT /cart HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n',
  )
  const [bytes] = await once(socket, 'data')
  t.equal(answersIn(String(bytes))[0]?.status, 405)
})

t.test('a refusal waits for the answers to the whole requests before it', async (t) => {
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
  const answers = answersIn(await text(socket))
  t.strictSame(
    answers.map(({ status, body }) => (status === 200 ? body : status)),
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
    const [answer] = await exchange(t, server, bytes)
    refused(t, answer, 408, 'request-timeout')
  }
})

t.test('ships with the timeouts of the documentation', async (t) => {
  const server = await serve(t)
  t.equal(server.requestTimeout, 10_000)
  t.equal(server.headersTimeout, 5_000)
  t.equal(server.keepAliveTimeout, 10_000)
  t.equal(server.maxConnections, 110, 'with those for health')
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
