import t from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'

const bytes = [0x89, 0x50, 0x00, 0xff]

const image: FixtureModule = {
  manifest: { id: 'image', routes: ['GET /image/bytes', 'GET /image/stream'] },
  files: {
    'index.js': `
      import { Readable } from 'node:stream'
      import { Binary, defineModule } from '@mortise/module-sdk'
      const config = { access: 'public' }
      const schema = { summary: 'An image', response: { 200: Binary('image/png') } }
      const bytes = Buffer.from(${JSON.stringify(bytes)})
      export default defineModule('image').plugin(async (app) => {
        app.get('/image/bytes', { config, schema }, async (request, reply) => {
          reply.type('image/png')
          return bytes
        })
        app.get('/image/stream', { config, schema }, async (request, reply) => {
          reply.type('image/png')
          return Readable.from([bytes.subarray(0, 1), bytes.subarray(1)])
        })
      })`,
  },
}

t.test('bytes and streams are sent as they are, and OpenAPI says so', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, image)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const openapi = await fetch(`${application.url}/openapi.json`)
  const document = (await openapi.json()) as {
    paths: Record<string, { get: { responses: Record<string, { content: object }> } }>
  }
  for (const path of ['/image/bytes', '/image/stream']) {
    const response = await fetch(application.url + path)
    t.equal(response.headers.get('content-type'), 'image/png')
    t.strictSame([...new Uint8Array(await response.arrayBuffer())], bytes)
    const head = await fetch(application.url + path, { method: 'HEAD' })
    t.equal(head.status, 200)
    t.strictSame(document.paths[path]?.get.responses[200]?.content, {
      'image/png': { schema: { type: 'string', format: 'binary', contentMediaType: 'image/png' } },
    })
  }
})
