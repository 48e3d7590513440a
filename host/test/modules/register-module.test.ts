import { join } from 'node:path'
import { readConfig, readPackage, tokenIssuers } from '@mortise/application'
import t from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  modulePackage,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { createHost } from '../../src/generations/create-host.ts'
import { inContractOrder } from '../../src/modules/contract-registry.ts'
import { loadPlugin } from '../../src/modules/load-plugin.ts'
import { migrateHost } from '../../src/modules/migrate-host.ts'
import { createLogger } from '../../src/telemetry/logger.ts'

const config = await readConfig(await applicationFolder(t), {})
const storage = await openStorage({
  file: join(config.directory, 'register.db'),
  onFatal: (error) => {
    throw error
  },
})
t.teardown(() => storage.close())
await migrateHost(storage)

/** Registers the modules with a host, as a generation and a probe do. */
async function register(...modules: FixtureModule[]): Promise<void> {
  const loaded = modules.map(async (module) => {
    const directory = await modulePackage(t, module)
    const { name, version, manifest } = await readPackage(directory)
    const plugin = await loadPlugin(manifest.id, directory)
    const state = 'active' as const
    return { id: manifest.id, package: name, version, manifest, state, directory, settings: {}, plugin }
  })
  const app = await createHost({
    config,
    storage,
    logger: createLogger(config.log),
    tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
    modules: inContractOrder(await Promise.all(loaded)),
    notReady: () => undefined,
    distinctOperations: true,
  })
  await app.close()
}

/** A module whose entry is `code`, and which declares `routes`. */
const withCode = (code: string, ...routes: string[]): FixtureModule => ({
  manifest: { id: 'bad', routes },
  files: { 'index.js': code },
})

t.test('a module that cannot be loaded or registered is named with the reason, and its place', async (t) => {
  const bad: [string, FixtureModule, RegExp][] = [
    ['exports no plugin', withCode('export default {}'), /not a Fastify plugin/],
    ['has no entry', { manifest: { id: 'bad' }, files: {} }, /index\.js/],
    ['imports what it does not have', withCode('import "left-pad"'), /left-pad/],
    [
      'throws in another file',
      {
        manifest: { id: 'bad' },
        files: { 'index.js': 'import "./lib/deep.js"', 'lib/deep.js': 'null.x' },
      },
      /\(lib\/deep\.js:1\)$/,
    ],
    [
      'is no CommonJS',
      { manifest: { id: 'bad' }, files: { 'index.cjs': '\n\n(' }, packageJson: { main: './index.cjs' } },
      /Unexpected.*\(index\.cjs:\d\)$/,
    ],
    [
      'throws while registering',
      withCode('export default async () => {\n  throw new Error("later")\n}'),
      /: later \(index\.js:2\)$/,
    ],
  ]
  for (const [what, module, message] of bad) {
    await t.rejects(register(oneRoute('good', ''), module), { module: 'bad', message }, what)
  }
})

t.test('below /.well-known a module owns two segments', async (t) => {
  const at = (id: string, path: string): FixtureModule => ({
    manifest: { id, routes: [`GET ${path}`] },
    files: {
      'index.js': `export default async (app) => {
        app.get('${path}', { config: { access: 'public' } }, async () => 1)
      }`,
    },
  })
  const good = at('good', '/.well-known/good')
  await register(good, at('bad', '/.well-known/bad'))
  await t.rejects(register(good, at('bad', '/.well-known/good/more')), {
    message: /lies below \/\.well-known\/good, which belongs to good/,
  })
  for (const path of ['/.well-known', '/.well-known/:any'])
    await t.rejects(register(at('bad', path)), /routes/, path)
})

t.test('routes are what the manifest says, with access, and nobody else’s', async (t) => {
  const route = (options: string, path = '/bad') =>
    `export default async (app) => { app.get('${path}', ${options} async () => 1) }`
  const open = "{ config: { access: 'public' } },"
  await register(oneRoute('good', ''), withCode(route(open), 'GET /bad'))
  const bad: [FixtureModule, RegExp][] = [
    [withCode(route(open)), /registers GET \/bad, which its manifest does not declare/],
    [withCode(route(open), 'GET /bad', 'POST /bad'), /declares POST \/bad, which it does not register/],
    [withCode(route(''), 'GET /bad'), /has no access/],
    [withCode(route("{ config: { access: '' } },"), 'GET /bad'), /access/],
    [withCode(route('{ config: { access: [] } },'), 'GET /bad'), /access/],
    ...['/good', '/good/total', '/good/:id'].map((path): [FixtureModule, RegExp] => [
      withCode(route(open, path), `GET ${path}`),
      /GET \/good.* lies below \/good, which belongs to good: use another path/,
    ]),
    [
      withCode(route(open, '/health/live'), 'GET /health/live'),
      /GET \/health\/live lies below \/health, which belongs to the host/,
    ],
    [withCode(route(open, '/guest/bad'), 'GET /guest/bad'), /belongs to the host/],
  ]
  for (const [module, message] of bad) {
    await t.rejects(register(oneRoute('good', ''), module), { module: 'bad', message })
  }
})

t.test('each route has an operationId of its own, in all modules', async (t) => {
  const open = "config: { access: 'public' }"
  const routes = (...paths: string[]) => paths.map((path) => `GET ${path}`)
  const code = (...calls: string[]) => `export default async (app) => { ${calls.join(';')} }`
  const get = (path: string, schema = '') =>
    `app.get('${path}', { ${open}, schema: { ${schema} } }, async () => 1)`
  const same = "operationId: 'getGood'"
  const bad: [FixtureModule, RegExp][] = [
    [
      withCode(code(get('/bad', same)), ...routes('/bad')),
      /GET \/bad has the operationId getGood, as GET \/good of good/,
    ],
    [
      withCode(code(get('/bad/by/id'), get('/bad/:id')), ...routes('/bad/by/id', '/bad/:id')),
      /GET \/bad\/:id has the operationId getBadById, as GET \/bad\/by\/id of bad/,
    ],
  ]
  for (const [module, message] of bad)
    await t.rejects(register(oneRoute('good', ''), module), { module: 'bad', message })
  const hidden = withCode(code(get('/bad', `${same}, hide: true`)), ...routes('/bad'))
  await register(oneRoute('good', ''), hidden)
})

t.test('what the host would silently undo is refused, with the reason and the place', async (t) => {
  const route = (schema: string, options = '') =>
    `app.get('/bad', { config: { access: 'public' }, schema: ${schema}, ${options} }, async () => 1)`
  const dates =
    'Type.Object({ at: Type.Transform(Type.String()).Decode((text) => new Date(text)).Encode(String) })'
  const bad: [string, RegExp][] = [
    ['app.setErrorHandler(() => {})', /it calls setErrorHandler, and .* throw problem.* \(index\.js:4\)$/],
    ['app.register(async (inner) => inner.setErrorHandler(() => {}))', /it calls setErrorHandler/],
    ['app.setNotFoundHandler(() => {})', /it calls setNotFoundHandler/],
    ['app.setValidatorCompiler(() => () => true)', /it calls setValidatorCompiler, and .*invalidRequest/],
    [route('{}', 'validatorCompiler: () => () => true'), /GET \/bad has a validatorCompiler/],
    [route('{}', 'errorHandler: () => {}'), /GET \/bad has an errorHandler, and .* throw problem/],
    [route(`{ querystring: ${dates} }`), /GET \/bad uses Type\.Transform.* \(index\.js:4\)$/],
    [route(`{ response: { 200: ${dates} } }`), /uses Type\.Transform/],
    [route('{}', 'websocket: true'), /WebSockets.*text\/event-stream/],
    ["app.server.on('upgrade', () => {})", /WebSockets/],
  ]
  const plugin = `Object.assign(async () => {}, { [Symbol.for('plugin-meta')]: { name: '@fastify/cors' } })`
  bad.push(
    [`await app.register(${plugin})`, /registers @fastify\/cors, .* cors\.origins \(index\.js:4\)$/],
    [`app.register(Promise.resolve({ default: ${plugin} }))`, /registers @fastify\/cors/],
    [`app.register(async (inner) => inner.register(${plugin}))`, /registers @fastify\/cors/],
  )
  for (const [code, message] of bad) {
    const module = withCode(
      `import { Type } from '@sinclair/typebox'

export default async (app) => {
  ${code}
}`,
      'GET /bad',
    )
    await t.rejects(register(module), { module: 'bad', message }, code)
  }
})

t.test('events are what the manifest says, and nobody else’s', async (t) => {
  const emitting = (id: string, emitted: string[], declared: string[], code = ''): FixtureModule => ({
    manifest: { id, events: declared },
    files: {
      'index.js': `import { defineModule } from '@mortise/module-sdk'
        const events = { ${emitted.map((type) => `'${type}': { type: 'object' }`)} }
        export default defineModule('${id}', { events }).plugin(async (app, context) => { ${code} })`,
    },
  })
  await register(emitting('bad', ['thing.done'], ['thing.done']))
  const bad: [FixtureModule, RegExp][] = [
    [emitting('bad', ['thing.done'], []), /emits "thing.done", which its manifest does not declare/],
    [emitting('bad', [], ['thing.done']), /declares the events thing.done, which it does not emit/],
    [emitting('bad', ['good.done'], ['good.done']), /emits "good.done", which good also emits/],
    [emitting('bad', [], [], 'context.events'), /its manifest needs "listensTo": \["\*"\]/],
  ]
  const good = emitting('good', ['good.done'], ['good.done'])
  for (const [module, message] of bad) {
    await t.rejects(register(good, module), { module: 'bad', message })
  }
})
