import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { createTestHost, type TestHostOptions } from '../src/index.ts'
import { manifestOf, packageFolder } from './package-folder.ts'

/** A copy of the SDK as npm puts one beside a module that is developed by itself; nothing of it is of use. */
const strangeSdk = {
  'node_modules/@mortise/module-sdk/package.json':
    '{ "name": "@mortise/module-sdk", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
  'node_modules/@mortise/module-sdk/index.js': 'export const respond = () => ({}), defineModule = () => ({})',
}

const counter = (t: Test, files = {}) =>
  packageFolder(t, {
    'package.json': manifestOf({ id: 'counter', provides: { counter: '1.0.0' } }),
    'index.js': `import { defineModule } from '@mortise/module-sdk'
      let count = 0
      export default defineModule('counter').plugin(async (app, { contracts }) => {
        contracts.provide('counter', '1.0.0', { next: () => ++count })
      })`,
    ...files,
  })

const visit = (t: Test, files = {}) =>
  packageFolder(t, {
    'package.json': manifestOf({ id: 'visit', routes: ['POST /visit'], requires: { counter: '^1.0.0' } }),
    'index.js': `import { respond, defineModule } from '@mortise/module-sdk'
      export default defineModule('visit').plugin(async (app, { contracts }) => {
        const counter = contracts.get('counter')
        app.post('/visit', { config: { access: 'caller' }, schema: { response: { 200: {} } } }, (request) =>
          request.transaction(function* () { return respond(200, { number: counter.next() }) }))
      })`,
    ...files,
  })

t.test('two modules of folders of their own share the SDK and their contract', async (t) => {
  for (const files of [{}, strangeSdk]) {
    const modules = [{ directory: await visit(t, files) }, { directory: await counter(t, files) }]
    const { user } = await createTestHost(t, { modules, rehearse: false })
    const responded = await user('ann').post('/visit')
    t.equal(responded.statusCode, 200)
    t.same(responded.json(), { number: 1 })
  }
})

/** What a test host writes to stderr where a route of its module throws. */
function stderrOf(t: Test, directory: string, options: Omit<TestHostOptions, 'modules'> = {}): string {
  const code = `
    const { createTestHost } = await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)})
    const cleanUps = []
    const host = await createTestHost(
      { teardown: (cleanUp) => cleanUps.push(cleanUp) },
      { modules: [{ directory: ${JSON.stringify(directory)} }], ...${JSON.stringify(options)} },
    )
    const { statusCode } = await host.guest().get('/broken')
    console.log(statusCode)
    for (const cleanUp of cleanUps) await cleanUp()`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  })
  t.equal(stdout, '500\n', stderr)
  return stderr
}

t.test('the error behind a 500 is shown, in lines for people, unless the log is silenced', async (t) => {
  const directory = await packageFolder(t, {
    'package.json': manifestOf({ id: 'broken', routes: ['GET /broken'] }),
    'index.js': `export default async (app) => {
      app.get('/broken', { config: { access: 'public' }, schema: { response: { 200: {} } } }, async () => { throw new Error('no luck') })
    }`,
  })
  const shown = stderrOf(t, directory)
  t.match(shown, /no luck/)
  t.match(shown, /index\.js:2/)
  t.match(shown, /GET \/broken/)
  t.notMatch(shown, /^\{/m)
  t.equal(stderrOf(t, directory, { config: { log: { level: 'silent' } } }), '')
})

t.test('a route without a response schema is refused, with its line', async (t) => {
  const directory = await packageFolder(t, {
    'package.json': manifestOf({ id: 'bare', routes: ['GET /bare'] }),
    'index.js': `export default async (app) => {
      app.get('/bare', { config: { access: 'public' } }, async () => ({}))
    }`,
  })
  await t.rejects(createTestHost(t, { modules: [{ directory }] }), {
    message: /GET \/bare has no response schema: add schema: .* \(index\.js:2\)/,
  })
})

t.test('an undeclared status is a 500, and nothing of the response is sent', async (t) => {
  const directory = await packageFolder(t, {
    'package.json': manifestOf({ id: 'leak', routes: ['GET /leak/:as'] }),
    'index.js': `import { Type } from '@sinclair/typebox'
    export default async (app) => {
      const schema = {
        params: Type.Object({ as: Type.String() }),
        response: { 200: Type.Object({ shown: Type.String() }) },
      }
      const bodies = { object: { secret: 'x' }, text: 'secret', bytes: Buffer.from('secret') }
      app.get('/leak/:as', { config: { access: 'public' }, schema }, async ({ params }, reply) => {
        if (params.as === 'declared') return { shown: 'a', secret: 'x' }
        return reply.code(202).header('x-kept', 'no').send(bodies[params.as])
      })
    }`,
  })
  const { guest } = await createTestHost(t, {
    modules: [{ directory }],
    config: { log: { level: 'silent' } },
  })
  t.equal((await guest().get('/leak/declared')).body, '{"shown":"a"}')
  for (const as of ['object', 'text', 'bytes']) {
    const response = await guest().get(`/leak/${as}`)
    t.equal(response.statusCode, 500)
    t.equal(response.json().code, 'internal-error')
    t.notMatch(response.body, /secret/)
  }
})

t.test('a forgotten yield* is shown with its place', async (t) => {
  const directory = await packageFolder(t, {
    'package.json': manifestOf({ id: 'broken', routes: ['GET /broken'], events: ['broken.read'] }),
    'index.js': `import { respond, defineModule, many, sql } from '@mortise/module-sdk'
    import { Type } from '@sinclair/typebox'
    const { emit, plugin } = defineModule('broken', { events: { 'broken.read': Type.Object({}) } })
    const forgotten = {
      emit: () => emit('broken.read', { subject: 'a', data: {} }),
    }
    export default plugin(async (app) => {
      app.get('/broken', { config: { access: 'public' }, schema: { response: { 200: {} } } }, (request) =>
        request.transaction(function* () {
          forgotten.emit()
          return respond(200, { rows: yield* many(sql\`SELECT 1 AS one\`) })
        }))
    })`,
  })
  const shown = stderrOf(t, directory)
  t.match(shown, /write yield\* before the step for the event "broken.read"/)
  t.match(shown, /index\.js:5/)
})

t.test('on a Node that is too old it says which ones there are', async (t) => {
  const old = "import module from 'node:module'; delete module.registerHooks; module.syncBuiltinESMExports()"
  const { stderr, status } = spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(old)}`,
      '--input-type=module',
      '-e',
      `import ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}`,
    ],
    { encoding: 'utf8' },
  )
  t.equal(status, 1)
  t.match(stderr, /@mortise\/module-testkit runs on Node \^22\.22\.2 \|\| \^24\.15 \|\| >=26, and this is/)
})
