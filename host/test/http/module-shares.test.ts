import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'

const quick: FixtureModule = {
  manifest: { id: 'quick', routes: ['GET /quick'] },
  files: {
    'index.js': `export default async (app) => {
      app.get('/quick', { config: { access: 'public' } }, async () => ({}))
    }`,
  },
}

/** The responses that the slow module owes. */
const held: (() => void)[] = []
Object.assign(globalThis, { heldResponses: held })

const slow: FixtureModule = {
  manifest: { id: 'slow', routes: ['GET /slow', 'GET /slow/stream'] },
  files: {
    'index.js': `import { PassThrough } from 'node:stream'
    export default async (app) => {
      const config = { access: 'public' }
      app.get('/slow', { config }, () => new Promise((resolve) => heldResponses.push(() => resolve({}))))
      app.get('/slow/stream', { config }, (_request, reply) => {
        const stream = new PassThrough()
        stream.write('begun')
        reply.send(stream)
      })
    }`,
  },
}

async function running(t: Test, server: object) {
  const directory = await applicationFolder(t, { server: { port: 0, ...server } })
  await install(t, directory, slow)
  await install(t, directory, quick)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.cut())
  const send = (path: string) => {
    const sent = request(application.url + path, { agent: false }).end()
    sent.on('error', () => {})
    const response = once(sent, 'response').then(([response]: IncomingMessage[]) => {
      response?.on('error', () => {})
      return response as IncomingMessage
    })
    // Of one that a test ends.
    response.catch(() => {})
    return { sent, response }
  }
  const get = (path: string) => send(path).response
  return { application, send, get }
}

const until = async (count: number) => {
  while (held.length < count) await pause(1)
}

t.beforeEach(() => void held.splice(0))

t.test('a slow module has three quarters of the requests, and the others have the rest', async (t) => {
  const { send, get, application } = await running(t, { maxRequests: 4 })
  const sent = Array.from({ length: 12 }, () => send('/slow'))
  await until(3)
  t.equal((await get('/quick')).statusCode, 200)
  t.equal(held.length, 3)
  for (let count = 1; count <= 3; count += 1) {
    held.shift()?.()
    await until(3)
  }
  const refused = (await Promise.all(sent.slice(6).map(({ response }) => response)))[0] as IncomingMessage
  t.match(refused, { statusCode: 503, headers: { 'retry-after': '1' } })
  t.match(await json(refused), {
    code: 'busy',
    detail: 'slow has more requests than it can serve in time; nothing was done. Send the request again.',
  })
  for (const release of held) release()
  for (const { response } of sent.slice(0, 6))
    t.equal((await response).statusCode, 200, 'in the order of their arrival')
  const shed = (await application.metrics()).find(({ name }) => name === 'mortise_shed_requests_total')
  t.equal(shed?.samples[0]?.value, 6)
})

t.test('streams that have begun and clients that have left take no share', async (t) => {
  const { send, get } = await running(t, { maxRequests: 4, maxRequestsPerModule: 1 })
  t.equal((await get('/slow/stream')).statusCode, 200)
  t.equal((await get('/slow/stream')).statusCode, 200)
  const first = send('/slow')
  await until(1)
  const second = send('/slow')
  await pause(50)
  second.sent.destroy()
  const third = send('/slow')
  first.sent.destroy()
  await until(2)
  // The second one, too, if the host heard of its end later.
  const release = setInterval(() => held.pop()?.(), 5)
  t.teardown(() => clearInterval(release))
  t.equal((await third.response).statusCode, 200)
})
