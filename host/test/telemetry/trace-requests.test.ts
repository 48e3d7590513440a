import fastify from 'fastify'
import pino from 'pino'
import t from 'tap'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { requestLog } from '../../src/telemetry/request-log.ts'
import { tracing } from '../../src/telemetry/trace-requests.ts'

t.test('the log names the trace that a request belongs to', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(line) })
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(() => app.close())
  await app.register(requestLog, { requests: true, slowMs: 60_000 })
  await app.register(tracing, {})
  app.get('/note', async () => ({}))
  const traceIdFor = async (traceparent: string) => {
    await app.inject({ url: '/note', headers: { traceparent } })
    return JSON.parse(lines.pop() as string).traceId
  }
  const trace = '0af7651916cd43dd8448eb211c80319c'
  t.equal(await traceIdFor(`00-${trace}-b7ad6b7169203331-01`), trace)
  t.equal(await traceIdFor('not one'), undefined)
})
