import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createServer, type ServerOptions } from '../../src/http/server.ts'
import { dial, exchange, listen, responsesIn } from './exchange.ts'

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const last = (path: string) => request(path, 'Connection: close\r\n')

/** A server that responds when it is asked to, other than /health/live. */
async function slowServer(t: Test, options: Partial<ServerOptions>) {
  const begun: { url: string; response: ServerResponse }[] = []
  let arrived = 0
  const server = await listen(
    t,
    (request, response) => {
      if (request.url === '/health/live') response.end('lives')
      else begun.push({ url: request.url as string, response })
    },
    options,
  )
  server.on('request', () => {
    arrived += 1
  })
  return {
    server,
    begun,
    urls: () => begun.map(({ url }) => url),
    until: async (count: number) => {
      while (begun.length < count) await pause(1)
    },
    /** Resolves when so many requests have come, begun or not. */
    arrived: async (count: number) => {
      while (arrived < count) await pause(1)
    },
    respond: (index: number) => begun[index]?.response.setHeader('content-length', 0).end(),
  }
}

/** What the server sends on a connection until it ends it. */
function send(
  t: Test,
  server: Parameters<typeof dial>[1],
  bytes: string,
): { socket: Socket; all: Promise<string> } {
  const socket = dial(t, server)
  socket.write(bytes)
  const all = text(socket)
  // Of one that a test ends.
  all.catch(() => {})
  return { socket, all }
}

t.test('requests beyond the limit wait in order, and begin when others have a response', async (t) => {
  const { server, urls, until, arrived, respond } = await slowServer(t, { maxRequests: 2 })
  const all: Promise<string>[] = []
  for (const [index, path] of ['/a', '/b', '/c', '/d'].entries()) {
    all.push(send(t, server, last(path)).all)
    await arrived(index + 1)
  }
  await until(2)
  t.same(urls(), ['/a', '/b'])
  respond(1)
  await until(3)
  t.same(urls(), ['/a', '/b', '/c'])
  respond(0)
  await until(4)
  for (const index of [2, 3]) respond(index)
  for (const received of await Promise.all(all)) t.match(responsesIn(received), [{ status: 200 }])
})

t.test('a request that waits for a second is refused, and its connection stays open', async (t) => {
  const { server, urls, until, respond } = await slowServer(t, { maxRequests: 1 })
  send(t, server, last('/a'))
  await until(1)
  const body = '{"product":"tea"}'
  const { socket, all } = send(
    t,
    server,
    `POST /b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const begun = performance.now()
  await once(socket, 'readable')
  t.ok(performance.now() - begun > 900)
  t.same(urls(), ['/a'], 'it never began')
  respond(0)
  socket.write(last('/c'))
  await until(2)
  respond(1)
  const [refused, served] = responsesIn(await all)
  t.equal(refused?.status, 503)
  t.match(refused?.headers, { 'retry-after': '1', 'content-type': 'application/problem+json' })
  t.equal(refused?.headers.connection, 'keep-alive')
  t.match(JSON.parse(refused?.body as string), { code: 'busy', status: 503 })
  t.equal(served?.status, 200)
})

t.test('health responds at once, whatever waits', async (t) => {
  const { server, until } = await slowServer(t, { maxRequests: 1 })
  send(t, server, last('/a'))
  await until(1)
  send(t, server, last('/b'))
  t.match(await exchange(t, server, last('/health/live')), [{ status: 200, body: 'lives' }])
})

t.test('open streams and disconnected callers do not delay the queue', async (t) => {
  const { server, begun, until, arrived, urls } = await slowServer(t, { maxRequests: 1 })
  send(t, server, request('/stream'))
  await until(1)
  begun[0]?.response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  const { socket } = send(t, server, request('/leaves'))
  await until(2)
  const waiting = send(t, server, request('/left-too'))
  await arrived(3)
  waiting.socket.destroy()
  await once(waiting.socket, 'close')
  socket.destroy()
  send(t, server, request('/b'))
  await until(3)
  t.same(urls(), ['/stream', '/leaves', '/b'])
})

t.test('connections beyond the maximum are for health alone', async (t) => {
  const { server, until } = await slowServer(t, { maxConnections: 2 })
  for (const count of [1, 2]) {
    send(t, server, request('/busy'))
    await until(count)
  }
  const [health] = await exchange(t, server, request('/health/live'))
  t.match(health, { status: 200, headers: { connection: 'close' } })
  const [other] = await exchange(t, server, request('/cart'))
  t.match(other, { status: 503, headers: { connection: 'close', 'retry-after': '1' } })
  const [silent] = responsesIn(await send(t, server, '').all)
  t.match(silent, { status: 503, headers: { connection: 'close' } }, 'and none stays without a request')
})

t.test('a crowd that is refused beyond the maximum leaves room for health', async (t) => {
  const { server, until } = await slowServer(t, { maxConnections: 100 })
  for (let count = 1; count <= 90; count += 1) {
    send(t, server, request('/busy'))
    await until(count)
  }
  const crowd = () => Array.from({ length: 30 }, () => send(t, server, request('/stranger')))
  const before = crowd()
  const health = send(t, server, '')
  const after = crowd()
  // The request for health comes when others have connected after it.
  for (let count = 1; count <= before.length + 20; count += 1) await once(server, 'connection')
  health.socket.write(request('/health/live'))
  t.match(responsesIn(await health.all), [{ status: 200 }])
  for (const { all } of [...before, ...after]) t.match(responsesIn(await all), [{ status: 503 }])
})

t.test('the last tenth of the connections is for signed-in callers, a tenth of it for each', async (t) => {
  const { server, begun, until, respond } = await slowServer(t, {
    maxConnections: 20,
    signedInCaller: async ({ authorization }) => authorization,
  })
  for (let count = 1; count <= 18; count += 1) {
    send(t, server, request('/busy'))
    await until(count)
  }
  const [stranger] = await exchange(t, server, last('/stranger'))
  t.match(stranger, { status: 503 })
  const ann = send(t, server, request('/ann', 'Authorization: ann\r\n'))
  await until(19)
  const [second] = await exchange(t, server, request('/ann', 'Authorization: ann\r\n'))
  t.match(second, { status: 503 }, 'a caller has one connection of the two')
  const bob = send(t, server, request('/bob', 'Authorization: bob\r\n'))
  await until(20)
  for (const index of [18, 19]) respond(index)
  t.match(responsesIn(await ann.all), [{ status: 200, headers: { connection: 'close' } }])
  t.match(responsesIn(await bob.all), [{ status: 200, headers: { connection: 'close' } }])
  send(t, server, request('/ann', 'Authorization: ann\r\n'))
  await until(21)
  t.same(
    begun.slice(18).map(({ url }) => url),
    ['/ann', '/bob', '/ann'],
  )
})

t.test('open() starts all waiting requests', async (t) => {
  const begun: string[] = []
  const { server, admission } = createServer({
    listener: ({ url }) => begun.push(url as string),
    maxConnections: 10,
    maxRequests: 1,
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  let arrived = 0
  server.on('request', () => {
    arrived += 1
  })
  for (const [index, path] of ['/a', '/b', '/c'].entries()) {
    send(t, server, request(path))
    while (arrived <= index) await pause(1)
  }
  while (begun.length < 1) await pause(1)
  t.same(begun, ['/a'])
  admission.open()
  t.same(begun, ['/a', '/b', '/c'])
  t.same([admission.refused, admission.refusal], [0, undefined])
})
