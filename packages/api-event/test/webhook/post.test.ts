import { type DestinationOptions, Destinations } from '@mortise/module-sdk'
import t from 'tap'
import { post } from '../../src/webhook/post.ts'
import { receiver, socketReceiver } from './receiver.ts'

const destinationsOf = (options: Omit<DestinationOptions, 'setting'>) =>
  new Destinations({ ...options, setting: 'webhookNetworks' })
const destinations = destinationsOf({ plainHttp: true, networks: ['127.0.0.0/8'] })
const send = (url: string, timeLimit?: number, to = destinations) =>
  post(new URL(url), { 'webhook-id': 'a' }, Buffer.from('{"ä":1}'), to, { timeLimit })

t.test('a delivery arrives, and its response is shown in printable form', async (t) => {
  const { url, received } = await receiver(t, (response) => {
    response.writeHead(202).end('thanks\n\u0000\u001b[31m\u202e!')
  })
  t.same(await send(url), { status: 202, error: null, response: 'thanks\n\uFFFD\uFFFD[31m\uFFFD!' })
  t.match(received, [
    { path: '/hook', body: '{"ä":1}', headers: { 'webhook-id': 'a', 'content-length': '8' } },
  ])
})

t.test('no redirect is followed', async (t) => {
  const elsewhere = await receiver(t)
  for (const status of [301, 302, 303, 307, 308]) {
    const { url } = await receiver(t, (response) => {
      response.writeHead(status, { location: elsewhere.url }).end()
    })
    t.match(await send(url), { status })
  }
  t.same(elsewhere.received, [])
})

t.test('only 4 KiB of an endless response are read', async (t) => {
  const { url } = await receiver(t, (response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
      response.once('drain', more)
    }
    more()
  })
  const { status, response } = await send(url)
  t.equal(status, 200)
  t.equal(response, 'x'.repeat(4096))
})

t.test('a missing response counts as unknown, and a status is enough', async (t) => {
  const { url } = await receiver(t, () => {})
  t.match(await send(url, 50), { status: null, error: 'no response within 0.05 s' })
  const slow = await receiver(t, (response) => {
    response.write('begun')
  })
  t.match(await send(slow.url, 200), { status: 200, response: 'begun' })
})

const lies: [string, string, object][] = [
  [
    'a shorter body than it says',
    'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nshort',
    { status: 200, response: 'short' },
  ],
  ['a longer one', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nlonger', { status: 200, response: 'lo' }],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc', { status: null }],
  [
    'broken chunks',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcdef\r\nzz',
    { status: 200 },
  ],
  ['endless headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(5000)}\r\n`, { status: null, error: /./ }],
  ['no HTTP', 'hello\r\n\r\n', { status: null, error: /./ }],
  ['nothing', '', { status: null, error: /./ }],
  [
    'another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    { status: null },
  ],
  ['hints for ever', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100), { status: null }],
]
for (const [name, bytes, expected] of lies) {
  t.test(`a receiver that returns ${name} does no harm`, async (t) => {
    t.match(await send(await socketReceiver(t, (socket) => socket.end(bytes))), expected)
  })
}

t.test('a reset, a closed port, and a receiver without TLS are no response', async (t) => {
  t.match(await send(await socketReceiver(t, (socket) => socket.resetAndDestroy())), {
    status: null,
    error: /ECONNRESET|hang up/,
  })
  const { url } = await receiver(t)
  t.match(await send(url.replace('http:', 'https:')), { status: null, error: /SSL|wrong version/ })
  t.match(await send('http://127.0.0.1:1/'), { status: null, error: /ECONNREFUSED/ })
})

t.test('each connection asks for the name, and judges what it then connects to', async (t) => {
  const { port, received } = await receiver(t)
  const responses = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2', '127.0.0.1']]
  const rebinding = destinationsOf({
    plainHttp: true,
    networks: ['127.0.0.1/32'],
    resolve: async () => (responses.shift() ?? []).map((address) => ({ address, family: 4 })),
  })
  const url = `http://shop.example:${port}/`
  t.match(await send(url, 1000, rebinding), { status: 200 })
  t.match(await send(url, 100, rebinding), { status: null, error: destinations.unreachable })
  t.match(await send(url, 1000, rebinding), { status: 200 })
  t.same(responses, [], 'and asks once')
  t.match(await send(`http://127.0.0.2:${port}/`, 1000, rebinding), {
    status: null,
    error: /not sent: .+not public/,
  })
  const bySystem = destinationsOf({ plainHttp: true, networks: [] })
  t.match(await send(`http://localhost:${port}/`, 1000, bySystem), { status: null, error: /not public/ })
  t.equal(received.length, 2)
  t.match(received, [{ headers: { host: `shop.example:${port}` } }])
})

t.test('a refused name reveals nothing, neither by words nor by time', async (t) => {
  await receiver(t)
  const resolving: [string, () => Promise<{ address: string; family: number }[]>][] = [
    ['is inside', async () => [{ address: '10.0.0.1', family: 4 }]],
    ['is this machine', async () => [{ address: '127.0.0.1', family: 4 }]],
    ['has no address', async () => []],
    ['does not exist', () => Promise.reject(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' }))],
    ['is never resolved', () => new Promise(() => {})],
  ]
  for (const [name, resolve] of resolving) {
    const start = performance.now()
    const outcome = await send(
      'https://shop.example/',
      100,
      destinationsOf({ plainHttp: false, networks: [], resolve }),
    )
    t.same(outcome, { status: null, error: destinations.unreachable, response: null }, name)
    t.ok(performance.now() - start > 90, `${name}: it takes the time limit`)
  }
})
