import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { AddressList } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { ConcurrencyLimit } from '../../src/http/limits/concurrency-limit.ts'
import { listen, responsesIn } from './exchange.ts'

const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

/** A server that holds back what is asked of it, other than /health/live. */
async function crowdedServer(
  t: Test,
  options: { most: number; maxConnections?: number; proxies?: string[] },
) {
  const refused: string[] = []
  const { most, maxConnections = 100, proxies = [] } = options
  const server = await listen(
    t,
    ({ url }, response) => {
      if (url === '/health/live') response.setHeader('content-length', 5).end('lives')
    },
    {
      maxConnections,
      shares: new ConcurrencyLimit(most),
      proxies: new AddressList(proxies),
      onRefused: (address) => void refused.push(address),
    },
  )
  /** A connection from an address of this machine, once the server has it. */
  const dial = async (localAddress = '127.0.0.1') => {
    const accepted = once(server, 'connection')
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    await accepted
    return socket
  }
  return { server, dial, refused }
}

/** All that the server sends until it ends the connection. */
const responses = async (socket: Socket, bytes = '') => {
  if (bytes !== '') socket.write(bytes)
  return responsesIn(await text(socket))
}

const tooMany = {
  status: 429,
  headers: { connection: 'close', 'retry-after': '1', 'content-type': 'application/problem+json' },
  body: /"code":"rate-limited".*requestId/,
}

t.test('an address at its limit gets a response with the refusal, others are served', async (t) => {
  const { dial, refused } = await crowdedServer(t, { most: 2 })
  const first = await dial()
  await dial()
  const found = await responses(await dial(), ask('/cart').repeat(3))
  t.equal(found.length, 1)
  t.match(found, [tooMany])
  t.same(refused, ['127.0.0.1'])
  const other = await dial('127.0.0.2')
  other.write(ask('/cart'))
  t.match(await responses(await dial(), ask('/health/live')), [
    { status: 200, body: 'lives', headers: { connection: 'close' } },
  ])
  first.destroy()
  t.notOk(other.destroyed)
})

t.test('a closed connection frees its place', async (t) => {
  const { server, dial } = await crowdedServer(t, { most: 1 })
  const accepted = once(server, 'connection')
  const first = await dial()
  const [connection] = await accepted
  first.destroy()
  await once(connection, 'close')
  const second = await dial()
  second.write(`GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n`)
  const [bytes] = await once(second, 'data')
  t.match(responsesIn(String(bytes)), [{ status: 200, headers: { connection: 'keep-alive' } }])
})

t.test('the oldest silent refused connection makes room for the next', async (t) => {
  // Of two spare connections one is for addresses that have their share.
  const { dial } = await crowdedServer(t, { most: 1, maxConnections: 20 })
  await dial()
  const silent = await dial()
  const reported = responses(silent)
  const next = await dial()
  t.match(await reported, [tooMany])
  t.match(await responses(next, ask('/health/live')), [{ status: 200 }])
  t.match(await responses(await dial()), [tooMany], 'and the last has a response when its time is over')
})

t.test('a trusted proxy has no connection limit, and 0 means no limit', async (t) => {
  const proxied = await crowdedServer(t, { most: 1, proxies: ['127.0.0.0/8'] })
  const unlimited = await crowdedServer(t, { most: 0 })
  for (const { dial, refused } of [proxied, unlimited]) {
    for (let count = 0; count < 5; count += 1) await dial()
    const last = await dial()
    last.write(ask('/health/live'))
    const [bytes] = await once(last, 'data')
    t.match(responsesIn(String(bytes)), [{ status: 200, headers: { connection: 'keep-alive' } }])
    t.same(refused, [])
  }
})
