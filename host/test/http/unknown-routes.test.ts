import t from 'tap'
import { createApp } from './create-app.ts'

t.test('a known path with another method is 405 with Allow, before access and body', async (t) => {
  const app = await createApp(t)
  for (const method of ['PUT', 'POST', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'MKCOL', 'QUERY'] as const) {
    const headers = { 'content-type': 'application/json', 'content-length': '9999999' }
    const response = await app.inject({ method: method as never, url: '/cart', headers, payload: '{' })
    t.equal(response.statusCode, 405, method)
    t.equal(response.headers.allow, 'DELETE, GET, HEAD')
    t.equal(response.json().code, 'method-not-allowed')
  }
  t.equal(
    (await app.inject({ method: 'PUT', url: '/cart/item/%ZZ' })).headers.allow,
    'DELETE, GET, HEAD, PATCH',
  )
  t.equal((await app.inject('/cart/item')).headers.allow, 'POST')
  t.equal((await app.inject({ method: 'POST', url: '/docs' })).statusCode, 405)
  t.equal((await app.inject({ method: 'DELETE', url: '/?x=1' })).headers.allow, 'GET, HEAD')
})

t.test('an unknown path is 404 with every method', async (t) => {
  const app = await createApp(t)
  for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PROPFIND'] as const) {
    for (const url of [
      '/carts',
      '/Cart',
      '//cart',

      '/cart%2Fitem',
      '/cart;x',
      '/%ZZ',
      '*',
      '/api/cart',
      '/cart/item/x/y',
    ]) {
      const response = await app.inject({
        method: method as never,
        url,
        ...(method === 'POST' && { payload: '{' }),
      })
      t.equal(response.statusCode, 404, `${method} ${url}`)
      t.notOk(response.headers.allow)
    }
  }
})

t.test('a path that ends in a slash is unknown, with every method', async (t) => {
  const app = await createApp(t)
  for (const url of [
    '/cart/',
    '/cart/item/',
    '/cart/item/x/',
    '/docs/',
    '/cart/?x=1',
    '/cart/item/#x',
    '/cart//',
    '//',
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'] as const) {
      const response = await app.inject({ method: method as never, url })
      t.equal(response.statusCode, 404, `${method} ${url}`)
      t.equal(response.json().code, 'not-found')
    }
  }
  t.equal((await app.inject('/')).statusCode, 200)
})

t.test('the base path is a prefix of all routes', async (t) => {
  const app = await createApp(t, { basePath: '/api' })
  t.equal((await app.inject('/api')).statusCode, 200)
  t.equal((await app.inject('/api/')).statusCode, 200, 'the path / below the base path')
  t.equal((await app.inject({ method: 'POST', url: '/api/' })).statusCode, 405)
  t.equal((await app.inject('/')).statusCode, 404)
  t.equal((await app.inject('/cart')).statusCode, 404)
  t.equal((await app.inject('/api/cart')).statusCode, 200)
  t.equal((await app.inject({ method: 'PUT', url: '/api/cart' })).headers.allow, 'DELETE, GET, HEAD')
})

t.test('malformed ids of any length reach the route, whose 404 they all get', async (t) => {
  const app = await createApp(t)
  const ids = [
    'item_01kahr3v8ze5x9g2w0m4c7t6ys',
    'x',
    'x'.repeat(65),
    'x'.repeat(8000),
    '%'.repeat(8000),
    '%ZZ',
    '%FF',
    '%C3%28',
  ]
  const bodies = new Set<string>()
  for (const id of [...ids, '%', '%00', 'a%2Fb', '%20', '😀', "';--", '%F0%9F%98%80', 'a:b', '*']) {
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const response = await app.inject({ method, url: `/cart/item/${id}`, headers: { 'request-id': 'r' } })
      t.equal(response.statusCode, 404, `${method} ${id.slice(0, 20)}`)
      bodies.add(response.body)
    }
  }
  t.equal(bodies.size, 1)
  t.match([...bodies][0], 'item-not-found')
})

t.test('HEAD works on every GET route', async (t) => {
  const app = await createApp(t)
  for (const url of ['/', '/cart', '/docs', '/openapi.json', '/health/live']) {
    const response = await app.inject({ method: 'HEAD', url })
    t.equal(response.statusCode, 200, url)
    t.equal(response.body, '')
    t.equal(response.headers['content-length'], (await app.inject(url)).headers['content-length'])
  }
  const missing = await app.inject({ method: 'HEAD', url: '/cart/item/x' })
  t.equal(missing.statusCode, 404)
  t.equal(missing.body, '')
})

t.test('a module cannot respond to unknown paths itself', async (t) => {
  const app = await createApp(t)
  app.register(async (scope) => {
    scope.setNotFoundHandler((_request, reply) => reply.send('mine'))
  })
  await t.rejects(async () => app.ready(), /Not found handler already set/)
})
