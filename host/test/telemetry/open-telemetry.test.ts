import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fastify from 'fastify'
import pino from 'pino'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { OpenTelemetry } from '../../src/telemetry/open-telemetry.ts'
import { tracing as tracingPlugin } from '../../src/telemetry/trace-requests.ts'
import { startCollector } from './collector.ts'
import { loadedOfOpenTelemetry } from './loaded-packages.ts'

// In milliseconds. The libraries read these from nowhere else.
process.env.OTEL_BSP_SCHEDULE_DELAY = '20'
process.env.OTEL_EXPORTER_OTLP_TIMEOUT = '200'

/** Sets a variable for what is started from here to the end of the test. */
function setVariable(t: Test, name: string, value: string): void {
  const { [name]: previous } = process.env
  process.env[name] = value
  t.teardown(() => {
    process.env[name] = previous
  })
}

const trace = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'

const note = (version = '1.0.0'): FixtureModule => ({
  version,
  manifest: {
    id: 'note',
    routes: ['GET /note', 'POST /note', 'GET /note/:id', 'GET /note/broken'],
    tables: 'note',
    migrations: 'migrations',
  },
  files: {
    'migrations/001-note.sql': 'CREATE TABLE note (text TEXT);',
    'migrations/001-note.down.sql': 'DROP TABLE note;',
    'index.js': `import { respond, defineModule, run, sql } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const { plugin, problem } = defineModule('note', {
        problems: { 'unknown-note': { status: 404, title: 'There is no such note' } },
      })
      const Note = Type.Object({ text: Type.String() }, { title: 'Note' })
      const access = 'public'
      export default plugin(async (app, { database }) => {
        app.get('/note', { config: { access } }, () => database.one(sql\`SELECT count(*) AS rows FROM note\`))
        app.get('/note/:id', { config: { access } }, async () => {
          throw problem('unknown-note', 'It is private to say which.')
        })
        app.get('/note/broken', { config: { access } }, async (request) => {
          if (request.headers['break'] !== undefined) throw new Error('the password is hunter2')
          return {}
        })
        app.addContentTypeParser('text/note', { parseAs: 'string' }, (_request, text, done) => done(null, { text }))
        app.post('/note', { config: { access }, schema: { body: Note } }, (request) =>
          request.transaction(function* () {
            yield* run(sql\`INSERT INTO note (text) VALUES (\${request.body.text})\`)
            return respond(201, {})
          }))
      })`,
  },
  packageJson: { peerDependencies: { '@mortise/module-sdk': '*', '@sinclair/typebox': '*' } },
})

async function running(t: Test, settings: object = {}) {
  const collector = await startCollector(t)
  const directory = await applicationFolder(t, { telemetry: { endpoint: collector.url }, ...settings })
  await install(t, directory, note())
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const { spans, until } = collector
  const ask = async (path: string, { headers, ...init }: RequestInit = {}) => {
    const response = await fetch(application.url + path, { ...init, headers: { ...headers } })
    await response.text()
    const id = response.headers.get('request-id')
    return { id, status: response.status }
  }
  /** The span of a request. */
  const spanOf = ({ id }: { readonly id: string | null }) =>
    until(() => spans.find(({ attributes }) => attributes['mortise.request_id'] === id))
  return { directory, application, collector, ask, spanOf }
}

t.test('a request is a span of the trace that it comes with', async (t) => {
  const { ask, spanOf, collector } = await running(t, { name: 'Shop' })
  const response = await ask('/note?secret=of-the-query', {
    headers: {
      traceparent: `00-${trace}-${parent}-01`,
      'guest-token': 'secret-of-the-guest',
      cookie: 'guest=secret-of-the-cookie',
    },
  })
  t.equal(response.status, 400, 'the query is unknown')
  t.match(await spanOf(response), {
    name: 'GET /note',
    kind: 2,
    traceId: trace,
    parentSpanId: parent,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/note',
      'http.response.status_code': 400,
      'url.path': '/note',
      'url.scheme': 'http',
      'mortise.module': 'note',
    },
    resource: { 'service.name': 'Shop', 'service.version': '1.0.0' },
  })
  t.notMatch(collector.bodies.join('\n'), /secret/)
  t.not(loadedOfOpenTelemetry().length, 0, 'what is not loaded without a collector is found where it is')
})

t.test(
  'without a valid traceparent a request begins a trace, and one that is not sampled is not reported',
  async (t) => {
    const { ask, spanOf, collector } = await running(t)
    const unsampled = await ask('/note', { headers: { traceparent: `00-${trace}-${parent}-00` } })
    const begun = await spanOf(await ask('/note', { headers: { traceparent: `00-${trace}-${parent}` } }))
    t.match(begun.traceId, /^[\da-f]{32}$/)
    t.not(begun.traceId, trace)
    t.notOk(begun.parentSpanId)
    t.notOk(collector.spans.some(({ attributes }) => attributes['mortise.request_id'] === unsampled.id))
  },
)

t.test('failures of the host are logged as errors; invalid requests are not', async (t) => {
  const { ask, spanOf, collector } = await running(t)
  const broken = await spanOf(await ask('/note/broken', { headers: { break: '1' } }))
  t.match(broken, { status: 2, attributes: { 'http.response.status_code': 500, 'error.type': '500' } })
  const refused = await spanOf(await ask('/note/7'))
  t.match(refused, { name: 'GET /note/:id', status: 0, attributes: { 'http.response.status_code': 404 } })
  const unknown = await spanOf(await ask('/nothing'))
  t.match(unknown, { name: 'GET', status: 0, attributes: { 'mortise.module': 'host' } })
  t.notMatch(collector.bodies.join('\n'), /hunter2|private/, 'the texts of errors are for the log')
})

t.test(
  'what a request asks of the database is a span of its own, also once a parser has read the body',
  async (t) => {
    const { ask, spanOf, collector } = await running(t)
    const childOf = (spanId: string, name: string) =>
      collector.until(() =>
        collector.spans.find((span) => span.parentSpanId === spanId && span.name === name),
      )
    const read = await spanOf(await ask('/note'))
    t.match(await childOf(read.spanId, 'database read'), {
      kind: 3,
      traceId: read.traceId,
      attributes: { 'db.system.name': 'sqlite' },
    })
    const body = 'x'.repeat(200_000)
    const written = await spanOf(
      await ask('/note', { method: 'POST', headers: { 'content-type': 'text/note' }, body }),
    )
    t.match(written.attributes, { 'http.response.status_code': 201 })
    t.match(await childOf(written.spanId, 'database transaction'), { traceId: written.traceId })
  },
)

t.test('health probes leave no trace', async (t) => {
  const { ask, spanOf, collector } = await running(t)
  for (const path of ['/health/live', '/health/ready', '/metrics']) t.equal((await ask(path)).status, 200)
  await spanOf(await ask('/note'))
  t.notOk(collector.spans.some(({ name }) => /health|metrics/.test(name)))
})

t.test('every request has one span, whichever generation serves it', async (t) => {
  const { ask, spanOf, collector, directory } = await running(t)
  const responses: Awaited<ReturnType<typeof ask>>[] = []
  let isOver = false
  const callers = Array.from({ length: 2 }, async () => {
    while (!isOver) {
      responses.push(await ask('/note'))
      await nextTurn()
    }
  })
  for (const version of ['1.0.1', '1.0.2']) {
    await install(t, directory, note(version))
    t.ok(await callRunningHost(directory, 'activate'))
  }
  isOver = true
  await Promise.all(callers)
  t.ok(responses.every(({ status }) => status === 200))
  for (const response of responses) await spanOf(response)
  const reported = collector.spans.map(({ attributes }) => attributes['mortise.request_id']).filter(Boolean)
  t.equal(reported.length, new Set(reported).size, 'no request has two')
  const processes = new Set(collector.spans.map(({ resource }) => resource['service.instance.id']))
  t.match([...processes], [new RegExp(`:${process.pid}$`)], 'what tries modules out shows nothing')
})

t.test('pending spans are sent at the stop', async (t) => {
  setVariable(t, 'OTEL_BSP_SCHEDULE_DELAY', '60000')
  const { ask, application, collector } = await running(t)
  const { id } = await ask('/note')
  t.same(collector.spans, [])
  await application.close()
  t.ok(collector.spans.some(({ attributes }) => attributes['mortise.request_id'] === id))
})

t.test('a collector that hangs delays neither requests nor the stop', async (t) => {
  setVariable(t, 'OTEL_EXPORTER_OTLP_TIMEOUT', '60000')
  const { ask, application, collector } = await running(t)
  const held: ServerResponse[] = []
  collector.respondWith((response) => held.push(response))
  t.teardown(() => {
    for (const response of held) response.end('{}')
  })
  for (let round = 0; round < 20; round++) t.equal((await ask('/note')).status, 200)
  await collector.until(() => collector.bodies[0])
  const begun = performance.now()
  await application.close()
  t.ok(performance.now() - begun < 10_000)
})

t.test('one line says that traces are lost, and one that they are taken again', async (t) => {
  const collector = await startCollector(t)
  const lines: string[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line).msg) })
  const tracing = new OpenTelemetry(collector.url, { name: 'Shop', version: '1.0.0' }, logger)
  const app = fastify(fastifyOptions({ logger, trustProxy: [] }))
  t.teardown(async () => {
    await app.close()
    await tracing.close()
  })
  await app.register(tracingPlugin, { tracing })
  app.get('/note', async (request) => request.traceparent)
  const batch = async () => {
    const before = collector.bodies.length
    t.match((await app.inject('/note')).body, /^00-[\da-f]{32}-[\da-f]{16}-01$/)
    await collector.until(() => collector.bodies[before])
  }
  collector.respondWith((response) => response.writeHead(500).end())
  for (let round = 0; round < 3; round++) await batch()
  collector.respondWith((response) => response.end('{}'))
  for (let round = 0; round < 3; round++) await batch()
  await tracing.close()
  t.match(lines, [/^traces are lost.*: /, /^the collector accepts traces again$/])
})
