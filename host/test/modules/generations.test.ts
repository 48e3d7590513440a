import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { Generations } from '../../src/modules/generations.ts'

/** An instance that answers its name at `/`, and at `/slow` once `release` is called. */
async function instance(name: string) {
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  let closed = false
  const app: FastifyInstance = fastify({ return503OnClosing: false })
  app.get('/', async () => name)
  app.get('/slow', async () => {
    begun.resolve()
    await held.promise
    return name
  })
  app.addHook('onClose', async () => {
    closed = true
  })
  await app.ready()
  return { app, release: held.resolve, slowBegun: begun.promise, isClosed: () => closed }
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

t.test('what has begun on the former generation ends there, and only then is it closed', async (t) => {
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

t.test('a former instance has retired when it has answered what it had begun', async (t) => {
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
