import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StreamReader } from '../../../../packages/api-event/test/event/stream-reader.ts'
import {
  applicationFolder,
  type FixtureModule,
  install,
  temporaryFolder,
} from '../../../../packages/application/test/application-folder.ts'
import { temporarySchema } from '../../../../packages/storage/test/engines.ts'
import { Application } from '../../../src/application.ts'
import { mintToken } from '../../../src/callers/mint-token.ts'

/** Emits two types of events for its caller, and streams one of them. */
const door = (version: string): FixtureModule => ({
  version,
  manifest: {
    id: 'door',
    routes: ['POST /door', 'GET /door/opened'],
    events: ['door.opened', 'door.closed'],
  },
  files: {
    'index.js': `
      import { respond, defineModule, eventStream } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const data = Type.Object({ n: Type.Integer() })
      const { emit, plugin } = defineModule('door', { events: { 'door.opened': data, 'door.closed': data } })
      const config = { access: 'caller' }
      export default plugin(async (app) => {
        app.post('/door', { config, schema: { body: data } }, (request) =>
          request.transaction(function* () {
            const owner = request.caller.id
            yield* emit('door.opened', { subject: 'front', owner, data: request.body })
            yield* emit('door.closed', { subject: 'front', owner, data: request.body })
            return respond(200, {})
          }))
        app.get('/door/opened', { config, schema: { summary: 'Openings', ...eventStream } }, (request, reply) =>
          reply.streamEvents({ types: ['door.opened'], limits: { streamsPerCaller: 2 } }))
      })`,
  },
})

const secret = Buffer.from('a secret of 32 bytes, for tests only')

async function hosts(t: Test, database: object) {
  const directory = await applicationFolder(t, database)
  await install(t, directory, door('1.0.0'))
  const start = async (directory: string) => {
    const application = await Application.start({ directory, environment: {} })
    t.teardown(() => application.close())
    return application
  }
  const one = await start(directory)
  // SQLite has one host.
  if (!('database' in database)) return { directory, one, other: one }
  const copy = join(await temporaryFolder(t), 'other')
  await cp(directory, copy, { recursive: true, filter: (path) => !/\.(sock|pid)$/.test(path) })
  return { directory, one, other: await start(copy) }
}

const headersOf = async (subject: string) => ({
  authorization: `Bearer ${await mintToken({ issuer: 'test', secret, subject, expiresIn: '1h' })}`,
})

async function streamsEvents(t: Test, database: object = {}) {
  const { directory, one, other } = await hosts(t, database)
  const [ann, ben] = [await headersOf('ann'), await headersOf('ben')]
  const open = async (host: Application, headers: Record<string, string>) => {
    const reader = await StreamReader.open(t, `${host.url}/door/opened`, headers)
    if (reader.response.statusCode === 200) await reader.until(() => reader.lastEventId !== '')
    return reader
  }
  const ring = async (host: Application, headers: Record<string, string>, n: number) => {
    const response = await fetch(`${host.url}/door`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ n }),
    })
    t.equal(response.status, 200, await response.text())
  }
  const seen = (reader: StreamReader) => reader.messages.map(({ event, data }) => [event, data.data])

  const first = await open(one, ann)
  t.match(first.response.headers, { 'content-type': 'text/event-stream' })
  await ring(other, ben, 1)
  await ring(other, ann, 2)
  await first.count(1)
  t.strictSame(seen(first), [['door.opened', { n: 2 }]], 'its type and its caller, from the other host')
  first.close()
  await ring(one, ann, 3)
  await ring(one, ann, 4)
  const second = await open(other, { ...ann, 'last-event-id': first.lastEventId })
  await second.count(2)
  t.strictSame(
    seen(second).map(([, data]) => data),
    [{ n: 3 }, { n: 4 }],
    'it continues at the other host',
  )

  const foreign = await open(one, { ...ben, 'last-event-id': second.lastEventId })
  t.equal(foreign.response.statusCode, 410)
  t.match(JSON.parse(await foreign.text()), {
    type: 'urn:problem-type:door:event-gone',
    status: 410,
  })
  t.equal((await open(one, {})).response.statusCode, 401, 'a new guest has no events')
  second.close()
  await open(one, ann)
  await open(one, ann)
  let third = await open(one, ann)
  t.equal(third.response.statusCode, 429)

  await install(t, directory, door('2.0.0'))
  await one.installed.activate({ probed: true })
  await ring(one, ann, 5)
  third = await open(one, { ...ann, 'last-event-id': second.lastEventId })
  await third.count(1)
  t.strictSame(seen(third), [['door.opened', { n: 5 }]], 'the next generation continues')
  const ends = third.ended
  await one.close()
  t.equal(await ends, true, 'a host that stops ends the stream in good order')
}

t.test('a module streams selected events to their owner (sqlite)', (t) => streamsEvents(t))

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('the same across two hosts (postgres)', { skip }, async (t) =>
  streamsEvents(t, { database: (await temporarySchema(t)).url }),
)
