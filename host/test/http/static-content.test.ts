import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import t from 'tap'
import { StaticContent } from '../../src/http/static-content.ts'

const long = Buffer.from('text and more text, '.repeat(200))

async function served(t: import('tap').Test, bytes: Buffer, type = 'text/css') {
  const app = fastify()
  t.teardown(() => app.close())
  const content = new StaticContent(bytes, type)
  app.get('/', async (request, reply) => content.negotiate(request, reply.type(type)))
  return (accepted?: string) =>
    app.inject({ url: '/', headers: accepted === undefined ? {} : { 'accept-encoding': accepted } })
}

t.test('content uses the coding with the highest q-value', async (t) => {
  const get = await served(t, long)
  for (const [accepted, coding] of [
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['deflate', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=0.2, identity', undefined],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP ; q=0.5', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0.1, gzip;q=0.2', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['*', 'br'],
    ['gzip;q=nonsense', undefined],
  ] as const) {
    const { headers, rawPayload } = await get(accepted)
    t.equal(headers['content-encoding'], coding, accepted ?? 'nothing')
    t.equal(headers.vary, 'Accept-Encoding')
    const decoded = coding === 'br' ? brotliDecompressSync(rawPayload) : coding && gunzipSync(rawPayload)
    t.strictSame(decoded ?? rawPayload, long)
  }
})

t.test('each coding has a strong tag of its own', async (t) => {
  const get = await served(t, long)
  const tags = await Promise.all(
    ['br', 'gzip', ''].map(async (accepted) => (await get(accepted)).headers.etag),
  )
  t.equal(new Set(tags).size, 3)
  for (const tag of tags) t.match(tag, /^"[\w-]+"$/)
})

t.test('short or compressed content is not compressed', async (t) => {
  for (const get of [await served(t, Buffer.from('short')), await served(t, long, 'image/png')]) {
    const { headers } = await get('br, gzip')
    t.equal(headers['content-encoding'], undefined)
    t.equal(headers.vary, undefined)
    t.match(headers.etag, /^"/)
  }
})
