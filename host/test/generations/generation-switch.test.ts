import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { Generations } from '../../src/generations/generation-switch.ts'
import { dial, listen, type Reply, responsesIn } from '../http/exchange.ts'

/** An instance that returns its name at `/`, at `/slow` once `release` is called, and at `/upload` what it got. */
async function instance(name: string) {
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const uploading = Promise.withResolvers<void>()
  let closed = false
  const app: FastifyInstance = fastify({ return503OnClosing: false })
  app.get('/', async () => name)
  app.get('/slow', async () => {
    begun.resolve()
    await held.promise
    return name
  })
  app.addHook('preParsing', async () => uploading.resolve())
  app.post('/upload', async (request) => `${name} got ${request.body}`)
  app.addHook('onClose', async () => {
    closed = true
  })
  await app.ready()
  return {
    app,
    release: held.resolve,
    slowBegun: begun.promise,
    uploadBegun: uploading.promise,
    isClosed: () => closed,
  }
}

async function serve(t: Test, generations: Generations) {
  const server = createServer(generations.listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => {
    agent.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return async (path: string, own?: Agent) => {
    const [response] = (await once(get({ port, path, agent: own ?? agent }), 'response')) as [IncomingMessage]
    return text(response)
  }
}

t.test('a kept-alive connection is served by the next generation after a switch', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const generations = new Generations(one.app)
  const ask = await serve(t, generations)
  t.equal(await ask('/'), 'one')
  await generations.replace(async () => two.app)
  t.equal(await ask('/'), 'two')
  await generations.close()
  t.ok(one.isClosed())
  t.ok(two.isClosed())
})

t.test('requests end on the generation that began them, and only then it closes', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const generations = new Generations(one.app)
  const ask = await serve(t, generations)
  const other = new Agent()
  const slow = ask('/slow', other)
  await one.slowBegun
  await generations.replace(async () => two.app)
  t.equal(await ask('/'), 'two')
  t.notOk(one.isClosed())
  one.release()
  t.equal(await slow, 'one')
  await generations.close()
  t.ok(one.isClosed())
})

t.test('a retiring generation is asked to end long responses, also at the end', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const retired: string[] = []
  for (const { app } of [one, two]) {
    const [name] = [app === one.app ? 'one' : 'two']
    app.retire = () => {
      retired.push(name)
    }
  }
  const generations = new Generations(one.app)
  await generations.replace(async () => two.app)
  t.same(retired, ['one'])
  await generations.close()
  t.equal(retired.at(-1), 'two')
})

t.test('changes are queued: each builds on what the one before left, and none is lost', async (t) => {
  const first = await instance('0')
  const generations = new Generations(first.app)
  const order: string[] = []
  await Promise.all(
    ['1', '2', '3'].map((name) =>
      generations.replace(async () => {
        order.push(name)
        return (await instance(name)).app
      }),
    ),
  )
  t.same(order, ['1', '2', '3'])
  t.equal((await generations.app.inject('/')).body, '3')
  await generations.close()
})

t.test(
  'a build that fails, or has nothing to change, leaves the present generation, and later ones come',
  async (t) => {
    const [one, two] = [await instance('one'), await instance('two')]
    const generations = new Generations(one.app)
    const failed = generations.replace(async () => {
      throw new Error('no')
    })
    const unchanged = generations.replace(async () => undefined)
    const replaced = generations.replace(async () => two.app)
    await t.rejects(failed, { message: 'no' })
    await unchanged
    await replaced
    t.equal((await generations.app.inject('/')).body, 'two')
    await generations.close()
  },
)

t.test('a previous instance retires after its last response', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const generations = new Generations(one.app)
  const ask = await serve(t, generations)
  await generations.retired()
  const slow = ask('/slow')
  await one.slowBegun
  await generations.replace(async () => two.app)
  let hasRetired = false
  const retired = generations.retired().then(() => {
    hasRetired = true
  })
  t.equal(await ask('/', new Agent()), 'two')
  t.notOk(hasRetired)
  one.release()
  t.equal(await slow, 'one')
  await retired
  t.ok(one.isClosed())
  await generations.close()
})

/** The host's own server in front of generations, and bytes on connections to it. */
async function connected(t: Test, ...instances: FastifyInstance[]) {
  const generations = new Generations(instances[0] as FastifyInstance)
  t.teardown(() => generations.close())
  const server = await listen(t, generations.listener)
  return { generations, server, dial: () => dial(t, server) }
}

const request = (method: string, path: string, ...head: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'host: x', ...head, '', ''].join('\r\n')

/** Reads until `count` final responds are there, interim ones apart. */
async function responses(socket: Socket, count: number): Promise<Reply[]> {
  let received = ''
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    received += bytes
    const whole = responsesIfWhole(received).filter(({ status }) => status >= 200)
    if (whole.length >= count) return whole
  }
  throw new Error(`the connection ended after: ${received}`)
}

function responsesIfWhole(received: string): Reply[] {
  try {
    const found = responsesIn(received)
    return found.every(
      ({ headers, body, status }) => status < 200 || body.length === Number(headers['content-length']),
    )
      ? found
      : []
  } catch {
    return []
  }
}

t.test('pipelined requests over a switch keep their order, each on its generation', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const { generations, dial } = await connected(t, one.app)
  const socket = dial()
  socket.write(request('GET', '/') + request('GET', '/slow'))
  await one.slowBegun
  await generations.replace(async () => two.app)
  socket.write(request('GET', '/') + request('GET', '/'))
  t.notOk(one.isClosed())
  // The next generation has these before the previous one has responded.
  t.equal(await responseOf(dial(), '/'), 'two')
  one.release()
  t.same(
    (await responses(socket, 4)).map(({ body }) => body),
    ['one', 'one', 'two', 'two'],
  )
  await generations.retired()
  t.ok(one.isClosed())
})

async function responseOf(socket: Socket, path: string): Promise<string | undefined> {
  socket.write(request('GET', path))
  return (await responses(socket, 1))[0]?.body
}

for (const [kind, head, pieces] of [
  ['in chunks', ['transfer-encoding: chunked'], ['4\r\n"in \r\n', '7\r\npieces"\r\n', '0\r\n\r\n']],
  ['after a 100 Continue', ['expect: 100-continue', 'content-length: 11'], ['"in pi', 'eces"']],
] as const) {
  t.test(`an upload ${kind} from before a switch ends on the previous generation`, async (t) => {
    const [one, two] = [await instance('one'), await instance('two')]
    const { generations, dial } = await connected(t, one.app)
    const socket = dial()
    const [first, ...others] = pieces
    socket.write(request('POST', '/upload', 'content-type: application/json', ...head) + first)
    await one.uploadBegun
    await generations.replace(async () => two.app)
    t.equal(await responseOf(dial(), '/'), 'two')
    t.notOk(one.isClosed())
    for (const piece of others) socket.write(piece)
    t.match(await responses(socket, 1), [{ status: 200, body: 'one got in pieces' }])
    await generations.retired()
    t.ok(one.isClosed())
  })
}

t.test('Upgrade is ignored and CONNECT refused, before and after a switch', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const { generations, dial } = await connected(t, one.app)
  const upgrading = dial()
  for (const { app } of [one, two]) {
    if (app === two.app) await generations.replace(async () => app)
    upgrading.write(request('GET', '/', 'connection: upgrade', 'upgrade: websocket'))
    t.match(await responses(upgrading, 1), [{ status: 200, body: app === one.app ? 'one' : 'two' }])
    const tunnel = dial()
    tunnel.write('CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n')
    t.match(await responses(tunnel, 1), [{ status: 404 }])
    await once(tunnel, 'close')
  }
  await generations.retired()
  t.ok(one.isClosed())
})

t.test('a change during the build of a generation waits for it', async (t) => {
  const [one, two, three] = [await instance('one'), await instance('two'), await instance('three')]
  const generations = new Generations(one.app)
  const building = Promise.withResolvers<void>()
  const first = generations.replace(async () => {
    await building.promise
    return two.app
  })
  let served: FastifyInstance | undefined
  const second = generations.replace(async () => {
    served = generations.app
    return three.app
  })
  t.equal(generations.app, one.app)
  building.resolve()
  await Promise.all([first, second])
  t.equal(served, two.app)
  t.equal(generations.app, three.app)
  await generations.close()
  t.same(
    [one, two, three].map(({ isClosed }) => isClosed()),
    [true, true, true],
  )
})

t.test('finished requests are counted; no change follows the close', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const generations = new Generations(one.app)
  const ask = await serve(t, generations)
  await ask('/')
  await generations.replace(async () => two.app)
  await ask('/')
  await generations.retired()
  t.equal(generations.finished, 2)
  await generations.close()
  t.equal(generations.finished, 2)
  await t.rejects(
    generations.replace(async () => undefined),
    { message: 'the host is shutting down' },
  )
})

t.test('a change in progress during the close completes and closes', async (t) => {
  const [one, two] = [await instance('one'), await instance('two')]
  const generations = new Generations(one.app)
  const built = Promise.withResolvers<FastifyInstance>()
  const change = generations.replace(() => built.promise)
  const closed = generations.close()
  built.resolve(two.app)
  await change
  await closed
  t.ok(one.isClosed())
  t.ok(two.isClosed())
})
