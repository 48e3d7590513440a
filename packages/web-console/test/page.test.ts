import { brotliDecompressSync } from 'node:zlib'
import { createTestHost } from '@mortise/module-testkit'
import t from 'tap'
import { consoleModule } from '../src/index.ts'
import { consoleHost, moduleIn } from './console-host.ts'

t.test('every path below /console is the page, with a policy that runs only its own files', async (t) => {
  const { app } = await consoleHost(t)
  for (const url of ['/console', '/console/purchases/purchase_1']) {
    const response = await app.inject(url)
    t.equal(response.statusCode, 200)
    t.equal(response.headers['content-type'], 'text/html; charset=utf-8')
    t.equal(response.headers['cache-control'], 'no-store')
    const policy = String(response.headers['content-security-policy'])
    t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/)
    t.notMatch(policy, /unsafe|https?:/)
    t.match(policy, /frame-ancestors 'none'/)
  }
})

t.test('relative links of the page begin below the base path', async (t) => {
  const { app } = await consoleHost(t, { config: { basePath: '/api' } })
  t.match((await app.inject('/api/console/purchases')).body, '<base href="/api/console/">')
})

t.test('the page has a link to an issuer where the settings have one: it asks for nothing', async (t) => {
  const oidc = {
    issuer: 'https://login.example',
    clientId: 'console',
    redirectUri: 'https://shop.example/console/callback',
  }
  const meta = '<meta name="issuer">'
  t.notMatch((await (await consoleHost(t)).app.inject('/console')).body, meta)
  const { app } = await consoleHost(t, { config: { modules: { 'web-console': { oidc } } } })
  t.match((await app.inject('/console')).body, meta)
})

t.test('files with a hash in their names stay in caches for ever, compressed', async (t) => {
  const { app } = await consoleHost(t)
  const plain = await app.inject('/console/asset/page-1a2b.js')
  t.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
  t.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
  const url = '/console/asset/page-1a2b.js'
  const small = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
  t.equal(small.headers['content-encoding'], 'br')
  t.ok(small.rawPayload.length < plain.rawPayload.length)
  t.equal(String(brotliDecompressSync(small.rawPayload)), plain.body)
})

t.test('only files of the page are served', async (t) => {
  const { app } = await consoleHost(t)
  for (const name of ['page-0000.js', '..%2Findex.html', '..%5Cindex.html']) {
    const response = await app.inject(`/console/asset/${name}`)
    t.notMatch(response.body, 'page-1a2b', name)
  }
  t.match((await app.inject('/console/asset/page-0000.js')).json(), { code: 'asset-not-found' })
})

t.test('without a built page the console says how to build it', async (t) => {
  const directory = moduleIn('web-console').directory
  const { app } = await createTestHost(t, {
    modules: [{ directory, plugin: consoleModule(t.testdir({})) }],
  })
  t.match((await app.inject('/console')).json(), { status: 404, code: 'page-not-built' })
})
