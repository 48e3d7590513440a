import { access } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createGzip } from 'node:zlib'
import t, { type Test } from 'tap'
import { runApp } from '../run-app.ts'

/** A server that is not ours. */
async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const documentWith = (schema: object) => ({
  openapi: '3.1.0',
  info: { title: 'Theirs', version: '1.0.0' },
  paths: {
    '/thing': {
      get: {
        responses: { 200: { description: 'a thing', content: { 'application/json': { schema } } } },
      },
    },
  },
})

async function client(t: Test, url: string) {
  const folder = join(t.testdir({}), 'client')
  const { exitCode, stdout } = await runApp('client', url, folder, '--json')
  const isWritten = await access(folder).then(
    () => true,
    () => false,
  )
  return { exitCode, isWritten, output: JSON.parse(stdout) }
}

async function refused(t: Test, url: string, reason: RegExp) {
  const { exitCode, isWritten, output } = await client(t, url)
  t.match(output.error, { code: 'no-document', message: reason })
  t.equal(exitCode, 3)
  t.notOk(isWritten, 'nothing is written')
}

t.test(
  'a document that refers to files or other hosts is refused, and nothing of them is read',
  async (t) => {
    const read: string[] = []
    const elsewhere = await serve(t, ({ url = '' }, response) => {
      read.push(url)
      response.end('{}')
    })
    const file = join(
      t.testdir({ 'secret.json': '{ "type": "object", "properties": { "mine": { "type": "string" } } }' }),
      'secret.json',
    )
    const example = { content: { 'application/json': { examples: { one: { externalValue: file } } } } }
    const references = {
      path: { $ref: file },
      relative: { $ref: 'secret.json' },
      'a path that begins with #': { $ref: `#/..${file}`.replace('#/', '#') },
      file: { $ref: `file://${file}` },
      host: { $ref: `${elsewhere}/schema.json#/a` },
      'no scheme': { $ref: '//127.0.0.1/schema.json' },
      'deep inside': { type: 'array', items: { allOf: [{ 'x-more': { $ref: `${elsewhere}/x.json` } }] } },
      mapping: { oneOf: [], discriminator: { propertyName: 'type', mapping: { a: `${elsewhere}/a.json` } } },
      example,
    }
    for (const [name, schema] of Object.entries(references))
      await t.test(name, async (t) => {
        const url = await serve(t, (_, response) => response.end(JSON.stringify(documentWith(schema))))
        await refused(t, url, /refers to .*it may only refer to itself/)
      })
    t.same(read, [])
  },
)

t.test('one that refers to itself is taken', async (t) => {
  const schemas = { 'a.b': { type: 'object', properties: { next: { $ref: '#/components/schemas/a.b' } } } }
  const discriminator = { propertyName: 'type', mapping: { b: '#/components/schemas/a.b' } }
  const schema = { oneOf: [{ $ref: '#/components/schemas/a.b' }], discriminator }
  const document = { ...documentWith(schema), components: { schemas } }
  const url = await serve(t, (_, response) => response.end(JSON.stringify(document)))
  t.match(await client(t, url), { exitCode: 0, output: { paths: 1 } })
})

t.test('a response without end, compressed or not, is not read to its end', async (t) => {
  const blank = Buffer.alloc(1024 * 1024, ' ')
  const endless: RequestListener = ({ url = '' }, response) => {
    const isZipped = url.startsWith('/zipped')
    if (isZipped) response.setHeader('content-encoding', 'gzip')
    const target = isZipped ? createGzip() : response
    if (isZipped) target.pipe(response)
    const send = () => {
      while (!response.destroyed && target.write(blank));
      if (!response.destroyed) target.once('drain', send)
    }
    send()
  }
  const url = await serve(t, endless)
  for (const path of ['/plain', '/zipped']) await refused(t, url + path, /more than 16777216 bytes/)
})

t.test('a redirect leads to another path, and to no other host', async (t) => {
  const document = JSON.stringify(documentWith({ type: 'string' }))
  const read: string[] = []
  const elsewhere = await serve(t, ({ url = '' }, response) => {
    read.push(url)
    response.end(document)
  })
  const url = await serve(t, ({ url: path = '' }, response) => {
    if (path === '/v2/openapi.json') return void response.end(document)
    const locations: Record<string, string> = {
      '/old/openapi.json': '/v2/openapi.json',
      '/away/openapi.json': `${elsewhere}/openapi.json`,
      '/file/openapi.json': 'file:///etc/passwd',
      '/round/openapi.json': '/round/openapi.json',
    }
    response.writeHead(302, { location: locations[path] }).end()
  })
  t.match(await client(t, `${url}/old`), { exitCode: 0, output: { paths: 1 } })
  await refused(t, `${url}/away`, /redirects to another host, http:\/\/127/)
  await refused(t, `${url}/file`, /redirects to another host/)
  await refused(t, `${url}/round`, /more than 5 times/)
  t.same(read, [])
})

t.test('what is no document is refused with the reason', async (t) => {
  const deep = `{"paths":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`
  for (const [text, reason] of [
    ['null', /not an OpenAPI document/],
    ['[1]', /not an OpenAPI document/],
    ['{"paths":null}', /not an OpenAPI document/],
    ['{"paths":{"/a":null}}', /cannot be used: [^.]+/],
    ['<html>', /JSON/],
    [deep, /more than 200 levels/],
  ] as const) {
    const url = await serve(t, (_, response) => response.end(text))
    await refused(t, url, reason)
  }
})
