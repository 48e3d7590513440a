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
    t.equal(assets.length, 4)
    for (const url of assets) {
      const asset = await app.inject(url)
      t.equal(asset.statusCode, 200, url)
      t.ok(asset.rawPayload.length > 50)
      t.match(asset.headers['content-type'], /^(text\/(css|javascript)|image\/png)/)
    }
    t.match((await app.inject(`${basePath}/docs/static/start.js`)).body, `url: '${basePath}/openapi.json'`)
  }
})

t.test('serves no other file', async (t) => {
  const app = await createApp(t)
  for (const name of ['index.html', 'swagger-ui.js', '../package.json', '%2e%2e%2fpackage.json', '']) {
    t.equal((await app.inject(`/docs/static/${name}`)).statusCode, 404, name)
  }
})

t.test('a name cannot break out of the page', async (t) => {
  const { docsPage } = await import('../../src/operations/docs-page.ts')
  const { default: fastify } = await import('fastify')
  const app = fastify()
  t.teardown(() => app.close())
  await app.register(docsPage, { application: { name: '</title><script>&' } })
  t.match((await app.inject('/docs')).body, '<title>&lt;/title>&lt;script>&amp;: API</title>')
})
