import { DatabaseError } from '@mortise/module-sdk'
import fastify from 'fastify'
import pino from 'pino'
import t from 'tap'
import { responseCounting } from '../../src/generations/response-counting.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { problemDetails } from '../../src/http/problem-details.ts'
import { health } from '../../src/routes/health.ts'
import { RequestDurations, requestLog } from '../../src/telemetry/observe-requests.ts'

t.test('a log line names module and route, and the request once', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(line) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  await app.register(requestLog, { requests: true, slowMs: 60_000 })
  app.get('/note/:id', { config: { access: 'public', module: 'note' } }, async (_request, reply) => {
    reply.code(503)
    return {}
  })
  await app.inject({ url: '/note/7', headers: { 'request-id': 'r-1' } })
  t.equal(lines.length, 1)
  t.equal(lines[0]?.split('requestId').length, 2)
  t.match(JSON.parse(lines[0] as string), {
    level: 40,
    requestId: 'r-1',
    module: 'note',
    route: 'GET /note/:id',
    url: '/note/7',
    status: 503,
  })
})

t.test('a request has a logger of its own from its first line on', async (t) => {
  const lines: object[] = []
  let made = 0
  const onChild = () => {
    made += 1
  }
  const logger = pino({ level: 'info', onChild }, { write: (line) => lines.push(JSON.parse(line)) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  app.get('/silent', async () => ({}))
  app.get('/talking', async ({ log }) => {
    log.debug('below the level')
    log.level = 'debug'
    log.debug({ at: 1 }, 'a %s', 'word')
    log.child({ module: 'note' }).warn('of a child')
    return { level: log.level, warns: (log as pino.Logger).isLevelEnabled('warn') }
  })
  await app.ready()
  made = 0
  await app.inject('/silent')
  t.equal(made, 0)
  const response = await app.inject({ url: '/talking', headers: { 'request-id': 'r-1' } })
  t.same(response.json(), { level: 'debug', warns: true })
  t.equal(made, 2)
  t.match(lines, [
    { level: 20, requestId: 'r-1', at: 1, msg: 'a word' },
    { level: 40, requestId: 'r-1', module: 'note', msg: 'of a child' },
  ])
  t.equal(lines.length, 2)
})

t.test('an open stream is not logged as slow, a request of that length is', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line).url) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  const requests = new RequestDurations()
  await app.register(requestLog, { requests: false, slowMs: 0 })
  await app.register(responseCounting, { requests })
  const types = ['text/event-stream', 'text/plain']
  for (const type of types) {
    app.get(`/${type}`, { config: { access: 'public' } }, async (_request, reply) =>
      reply.type(type).send('x'),
    )
  }
  for (const type of types) t.equal((await app.inject(`/${type}`)).statusCode, 200)
  t.same(lines, ['/text/plain'])
  const routes = requests.family().samples.map(({ labels }) => labels?.route)
  t.same([...new Set(routes)], ['/text/plain'])
})

t.test('repeated refusals are not logged one by one', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line).url) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  await app.register(requestLog, { requests: false, slowMs: 60_000 })
  await app.register(problemDetails)
  await app.register(health, { notReady: () => 'it starts' })
  const kinds = ['full', 'held', 'unavailable'] as const
  for (const kind of kinds) {
    app.get(`/${kind}`, { config: { access: 'public' } }, async () => {
      throw new DatabaseError(kind, 'no luck')
    })
  }
  for (const kind of kinds) t.equal((await app.inject(`/${kind}`)).statusCode, 503)
  t.equal((await app.inject('/health/ready')).statusCode, 503)
  t.strictSame(lines, [])
})

t.test(
  'of what fails in the same way ten lines a minute are logged, and how many more there were',
  async (t) => {
    const lines: Record<string, unknown>[] = []
    const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
    const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
    await app.register(requestLog, { requests: false, slowMs: 60_000 })
    await app.register(problemDetails)
    app.get('/busy/:id', { config: { access: 'public' } }, async () => {
      throw new DatabaseError('busy', 'no luck')
    })
    app.get('/broken', { config: { access: 'public' } }, async () => {
      throw new Error('a mistake')
    })
    for (let id = 0; id < 100; id++) await app.inject(`/busy/${id}`)
    for (let id = 0; id < 20; id++) await app.inject('/broken')
    t.equal(lines.length, 30)
    await app.close()
    const reported = lines.slice(30).map(({ level, route, alike }) => [level, route, alike])
    t.strictSame(reported.sort(), [
      [40, 'GET /broken', 10],
      [40, 'GET /busy/:id', 90],
      [50, 'GET /broken', 10],
    ])
  },
)
