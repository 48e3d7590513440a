import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'

/** A route whose response begins and does not end. */
const endless: FixtureModule = {
  manifest: { id: 'endless', routes: ['GET /endless'] },
  files: {
    'index.js': `import { PassThrough } from 'node:stream'
      export default async (app) => {
        app.get('/endless', { config: { access: 'public' } }, (_request, reply) => {
          const stream = new PassThrough()
          stream.write('begun')
          reply.send(stream)
        })
      }`,
  },
}

async function running(t: Test, trustProxy: readonly string[]) {
  const directory = await applicationFolder(t, {
    server: { port: 0, maxConnectionsPerAddress: 2, trustProxy },
  })
  await install(t, directory, endless)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.cut())
  return async (path: string, forwardedFor?: string): Promise<IncomingMessage> => {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    const sent = request(application.url + path, { headers, agent: false }).end()
    const [response] = await once(sent, 'response')
    response.on('error', () => {})
    response.resume()
    return response
  }
}

t.test('each address that a proxy forwards for has so many requests at once', async (t) => {
  const ask = await running(t, ['127.0.0.1'])
  const first = await ask('/endless', '10.0.0.1')
  await ask('/endless', '10.0.0.1')
  const refused = await ask('/endless', '10.0.0.1')
  t.match(refused, {
    statusCode: 429,
    headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
  })
  t.equal((await ask('/endless', 'made up, 10.0.0.1')).statusCode, 429, 'whatever it says itself')
  t.equal((await ask('/health/live', '10.0.0.1')).statusCode, 200)
  t.equal((await ask('/endless', '10.0.0.2')).statusCode, 200)
  for (let count = 0; count < 3; count += 1)
    t.equal((await ask('/endless')).statusCode, 200, 'its own have no limit')
  first.destroy()
  while ((await ask('/endless', '10.0.0.1')).statusCode !== 200);
})

t.test('X-Forwarded-For of an untrusted sender changes nothing', async (t) => {
  const ask = await running(t, [])
  await ask('/endless', '10.0.0.1')
  await ask('/endless', '10.0.0.2')
  const refused = await ask('/endless', '10.0.0.3')
  t.match(refused, { statusCode: 429, headers: { connection: 'close' } })
})
