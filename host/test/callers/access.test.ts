import fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { accessRules, isAccess } from '../../src/callers/access.ts'

async function withRules(): Promise<FastifyInstance> {
  const app = fastify()
  await app.register(accessRules)
  return app
}

t.test('a route that has no access is refused, naming it and what to write', async (t) => {
  const app = await withRules()
  t.throws(() => app.get('/open', async () => 'hello'), {
    message: /GET \/open has no access: write config: \{ access: 'caller' \}/,
  })
  t.throws(
    () => app.route({ method: ['PUT', 'POST'], url: '/open', config: {} as never, handler: async () => '' }),
    {
      message: /PUT, POST \/open has no access/,
    },
  )
})

t.test('an empty or unknown access is refused', async (t) => {
  const app = await withRules()
  const wrong = [
    '',
    ' ',
    [],
    ['caller'],
    {},
    null,
    true,
    'Public',
    'user',
    'cart:',
    ':read',
    'a:b:c',
    'a:b c',
    '*',
  ]
  for (const access of wrong) {
    t.notOk(isAccess(access), JSON.stringify(access))
    t.throws(() => app.get('/x', { config: { access: access as never } }, async () => ''), {
      message: /GET \/x has (the unknown|no) access/,
    })
  }
})

t.test('every form of access is accepted, also for HEAD', async (t) => {
  const app = await withRules()
  for (const access of ['public', 'caller', 'admin', 'purchase:read', 'my-shop:do-it'] as const) {
    app.get(
      `/${access.replace(':', '-')}`,
      { config: { access } },
      (request) => request.routeOptions.config.access,
    )
  }
  await app.ready()
  t.ok(app.hasRoute({ method: 'HEAD', url: '/purchase-read' }))
  t.equal((await app.inject('/purchase-read')).body, 'purchase:read')
})

t.test('the HEAD of a GET has its access', async (t) => {
  const app = await withRules()
  const seen: unknown[] = []
  app.addHook('onRequest', async (request) => {
    seen.push(request.routeOptions.config.access)
  })
  app.get('/x', { config: { access: 'admin' } }, async () => 'x')
  await app.inject({ method: 'HEAD', url: '/x' })
  t.strictSame(seen, ['admin'])
})

t.test('a module with such a route fails to load as a whole', async (t) => {
  const app = await withRules()
  await t.rejects(
    async () => {
      await app.register(async (scope) => {
        scope.get('/fine', { config: { access: 'public' } }, async () => '')
        scope.get('/forgotten', async () => '')
      })
    },
    { message: /GET \/forgotten has no access/ },
  )
})
