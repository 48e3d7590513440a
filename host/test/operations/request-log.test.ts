import fastify from 'fastify'
import pino from 'pino'
import t from 'tap'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { requestLog } from '../../src/operations/request-log.ts'

t.test('a line names module, route and, once, the request', async (t) => {
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
