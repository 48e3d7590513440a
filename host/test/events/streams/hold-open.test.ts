import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { StreamReader } from '../../../../packages/api-event/test/event/stream-reader.ts'
import { applicationFolder, install } from '../../../../packages/application/test/application-folder.ts'
import { Application } from '../../../src/application.ts'
import { mintToken } from '../../../src/callers/mint-token.ts'
import { callRunningHost } from '../../../src/control/call-running-host.ts'

/** Responses that stay open, of each kind. */
const door = {
  manifest: {
    id: 'door',
    routes: ['GET /door/events', 'GET /door/raw', 'GET /door/file', 'GET /door/slow', 'GET /door/public'],
  },
  files: {
    'index.js': `
      import { Readable } from 'node:stream'
      import { defineModule, eventStream } from '@mortise/module-sdk'
      const config = { access: 'caller' }
      const limits = { heartbeatSeconds: 0.02 }
      const endless = () => {
        const stream = new Readable({ read() {} })
        stream.push('{}\\n')
        return stream
      }
      const raw = async (request, reply) => {
        reply.holdOpen(limits)
        reply.hijack()
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\\n\\n')
      }
      export default defineModule('door').plugin(async (app) => {
        app.get('/door/events', { config, schema: eventStream }, (request, reply) => reply.streamEvents({ limits }))
        app.get('/door/raw', { config, schema: { response: { 200: {} } } }, raw)
        app.get('/door/public', { config: { access: 'public' }, schema: { response: { 200: {} } } }, raw)
        app.get('/door/file', { config, schema: { response: { 200: {} } } }, async (request, reply) => {
          reply.type('application/jsonl')
          reply.holdOpen(limits)
          return reply.send(endless())
        })
        app.get('/door/slow', { config, schema: { response: { 200: {} } } }, async (request, reply) => {
          reply.holdOpen(limits)
          globalThis.doorWaits = true
          await new Promise(() => {})
        })
      })`,
  },
}

const secret = Buffer.from('a secret of 32 bytes, for tests only')

async function served(t: Test) {
  const directory = await applicationFolder(t)
  await install(t, directory, door)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const token = await mintToken({ issuer: 'test', secret, subject: 'ann', expiresIn: '1h' })
  const user = { authorization: `Bearer ${token}` }
  const open = (path: string, headers: Record<string, string> = user) =>
    StreamReader.open(t, `${application.url}/door/${path}`, headers)
  const replaceSecret = async () => {
    await writeFile(join(directory, '.app', 'secret'), 'another secret of 32 bytes for tests\n')
    await callRunningHost(directory, 'renewSecrets')
  }
  return { open, replaceSecret }
}

t.test('responses that stay open end at once with the secret that proved their callers', async (t) => {
  const { open, replaceSecret } = await served(t)
  const [events, raw, file] = [await open('events'), await open('raw'), await open('file')]
  const others = [await open('public'), await open('raw', {})]
  await replaceSecret()
  t.equal(await events.ended, true, 'in good order')
  await Promise.all([raw.ended, file.ended])
  t.equal(await file.ended, false, 'a file that was cut off does not look whole')
  t.same(
    others.map(({ response }) => response.closed),
    [false, false],
    'nobody proved anything there',
  )
})

t.test('streams end with the token, and a download outlasts it', async (t) => {
  const { open } = await served(t)
  const [events, raw, file] = [await open('events'), await open('raw'), await open('file')]
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 3_600_000 + 31_000
  t.equal(await events.ended, true)
  await raw.ended
  for (let turn = 0; turn < 100; turn += 1) await nextTurn()
  t.equal(file.response.closed, false)
})

t.test('a response that has not begun ends, too', async (t) => {
  const { open, replaceSecret } = await served(t)
  const refused = t.rejects(open('slow'), { code: 'ECONNRESET' })
  while (!('doorWaits' in globalThis)) await nextTurn()
  await replaceSecret()
  await refused
})
