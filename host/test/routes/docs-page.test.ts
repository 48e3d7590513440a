import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createApp } from '../http/create-app.ts'

t.test('is one page at exactly its path, from this origin alone', async (t) => {
  for (const basePath of ['', '/api']) {
    const app = await createApp(t, { basePath })
    const page = await app.inject(`${basePath}/docs`)
    t.equal(page.statusCode, 200)
    t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    t.match(page.body, '<title>Shop: API</title>')
    const policy = String(page.headers['content-security-policy'])
    t.match(policy, "default-src 'none'")
    t.notMatch(policy, /unsafe|https?:|\*/)
    t.notMatch(page.body, /<script>|<style|\son\w+=|style=|:\/\//, 'nothing inline, nothing from elsewhere')

    const assets = [...page.body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url as string)
    t.equal(assets.length, 5)
    for (const url of assets) {
      const asset = await app.inject(url)
      t.equal(asset.statusCode, 200, url)
      t.ok(asset.rawPayload.length > 50)
      t.match(asset.headers['content-type'], /^(text\/(css|javascript)|image\/png)/)
    }
    const { body: start } = await app.inject(`${basePath}/docs/static/start.js`)
    t.match(start, `url: '${basePath}/openapi.json'`)
    t.match(start, `${basePath}/guest | sed`)
  }
})

t.test('large static files are compressed, and 304 if the client has them', async (t) => {
  const app = await createApp(t, { origins: ['https://shop.example'] })
  const url = '/docs/static/swagger-ui-bundle.js'
  const plain = await app.inject(url)
  const headers = { 'accept-encoding': 'br', origin: 'https://shop.example' }
  const { headers: reported, rawPayload } = await app.inject({ url, headers })
  t.match(reported, { 'content-encoding': 'br', vary: 'Origin, Accept-Encoding', 'content-type': /^text/ })
  t.ok(rawPayload.length < plain.rawPayload.length / 3)
  const known = { ...headers, 'if-none-match': String(reported.etag) }
  t.match(await app.inject({ url, headers: known }), { statusCode: 304, body: '' })
})

t.test('If-Match on a file needs exactly its ETag', async (t) => {
  const app = await createApp(t)
  for (const url of [
    '/docs',
    '/docs/static/start.js',
    '/docs/static/swagger-ui-bundle.js',
    '/openapi.json',
  ]) {
    const { headers: shown } = await app.inject({ url, headers: { 'accept-encoding': 'br' } })
    for (const method of ['GET', 'HEAD'] as const) {
      const get = (headers: Record<string, string>) => app.inject({ method, url, headers })
      const etag = String(shown.etag)
      t.equal((await get({ 'accept-encoding': 'br', 'if-match': `"x", ${etag}` })).statusCode, 200, url)
      t.equal((await get({ 'if-match': '*' })).statusCode, 200, url)
      const { statusCode, headers } = await get({ 'accept-encoding': 'br', 'if-match': `"x", W/${etag}` })
      t.equal(statusCode, 412, url)
      t.match(headers, { 'content-type': 'application/problem+json' })
      for (const name of ['etag', 'content-encoding', 'cache-control'])
        t.notOk(name in headers, `${name} is not of the problem`)
    }
  }
})

t.test('serves no other file', async (t) => {
  const app = await createApp(t)
  for (const name of ['index.html', 'swagger-ui.js', '../package.json', '%2e%2e%2fpackage.json', '']) {
    t.equal((await app.inject(`/docs/static/${name}`)).statusCode, 404, name)
  }
})

t.test('a name cannot break out of the page', async (t) => {
  const { docsPage } = await import('../../src/routes/docs-page.ts')
  const { default: fastify } = await import('fastify')
  const app = fastify()
  t.teardown(() => app.close())
  await app.register(docsPage, { application: { name: '</title><script>&' } })
  t.match((await app.inject('/docs')).body, '<title>&lt;/title>&lt;script>&amp;: API</title>')
})

t.test('the examples are of routes that their callers may read', async (t) => {
  const { body: start } = await (await createApp(t)).inject('/docs/static/start.js')
  const bearer = (...scopes: string[]) => ({ get: { security: [{ bearer: scopes }] } })
  const caller = { security: [{ bearer: [] }, { guestToken: [] }, {}] }
  const examples = (paths: object) => {
    const shown: Record<string, { textContent: string }> = {
      '#guest': { textContent: '' },
      '#user': { textContent: '' },
    }
    let complete = () => {}
    const SwaggerUIBundle = ({ onComplete }: { onComplete: () => void }) => {
      complete = onComplete
      return { getState: () => ({ toJS: () => ({ spec: { json: { paths } } }) }) }
    }
    const document = { querySelector: (name: string) => shown[name] }
    runInNewContext(start, { SwaggerUIBundle, document, location: { origin: 'https://shop.example' } })
    complete()
    return Object.values(shown).map(({ textContent }) => /\ncurl (\S+)/.exec(textContent)?.[1])
  }
  const paths = {
    '/product': { post: {}, get: { security: [] } },
    '/report': bearer('report:read'),
    '/event': { get: { ...caller, parameters: [{ name: 'since', required: true }] } },
    '/item/{id}': { get: caller },
  }
  t.same(examples(paths), ['https://shop.example/', 'https://shop.example/'])
  t.same(examples({ ...paths, '/cart': { get: caller } }), [
    'https://shop.example/cart',
    'https://shop.example/cart',
  ])
  t.same(examples({ ...paths, '/webhook': bearer() }), [
    'https://shop.example/',
    'https://shop.example/webhook',
  ])
})
