import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hostVersion } from '@mortise/host'
import t, { type Test } from 'tap'
import { type SampleOptions, sampleFolder } from '../../../packages/installer/test/sample-module.ts'
import { runApp } from '../run-app.ts'

const packages = fileURLToPath(new URL('../../../packages/', import.meta.url))

const main = `
  import { defineModule, Strict } from '@mortise/module-sdk'
  import { Type } from '@sinclair/typebox'
  const { plugin } = defineModule('stock', {
    settings: Strict({ lowest: Type.Integer({ default: 3 }) }),
    events: { 'stock.low': Type.Object({}) },
  })
  export default plugin(async (app, { contracts, on, settings }) => {
    contracts.provide('stock', '1.2.0', contracts.get('shelf'))
    on('purchase.created', function* () {})
    const config = { access: 'public' }
    app.get('/stock/' + settings.lowest, { config }, async () => ({}))
    app.patch('/stock/:id', { config }, async () => ({}))
  })`

const files = {
  'migrations/001-stock.sql': 'CREATE TABLE stock_item (id TEXT);\n\nCREATE TABLE stock_shelf (id TEXT);',
  'migrations/001-stock.down.sql': 'DROP TABLE stock_shelf; DROP TABLE stock_item;',
}

const json = (mortise: object) => ({
  mortise,
  peerDependencies: { '@mortise/module-sdk': '^1.0.0', '@sinclair/typebox': '^0.34.0' },
})

/** A package folder, and its package.json. */
async function folderOf(t: Test, options: SampleOptions) {
  const folder = await sampleFolder(t.testdir(), options)
  const file = join(folder, 'package.json')
  return { folder, file, read: async () => JSON.parse(await readFile(file, 'utf8')) }
}

t.test('the manifest comes from the code, and the parts of the author stay', async (t) => {
  const { folder, file, read } = await folderOf(t, {
    main,
    files,
    json: json({ routes: ['GET /gone'], optional: { shelf: '^1' } }),
  })
  const written = await runApp('module-manifest', '--json', folder)
  t.equal(written.exitCode, 0, written.stderr)
  t.strictSame((await read()).mortise, {
    id: 'stock',
    host: `^${hostVersion}`,
    routes: ['GET /stock/3', 'PATCH /stock/:id'],
    tables: 'stock',
    migrations: 'migrations',
    config: {
      additionalProperties: false,
      type: 'object',
      required: ['lowest'],
      properties: { lowest: { default: 3, type: 'integer' } },
    },
    provides: { stock: '1.2.0' },
    optional: { shelf: '^1' },
    events: ['stock.low'],
    listensTo: ['purchase.created'],
  })
  const text = await readFile(file, 'utf8')
  t.match((await runApp('module-manifest', '--json', folder)).json, { packages: [{ differs: [] }] })
  t.equal(await readFile(file, 'utf8'), text)
})

t.test('a manifest that differs from the code fails --check and is not changed', async (t) => {
  const { folder, file, read } = await folderOf(t, { main, files, json: json({}) })
  await runApp('module-manifest', '--json', folder)
  t.equal((await runApp('module-manifest', '--json', folder, '--check')).exitCode, 0)
  const planted = await read()
  planted.mortise.routes.push('GET /planted')
  planted.mortise.config.properties.lowest.default = 4
  await writeFile(file, JSON.stringify(planted))
  const { exitCode, json: response } = await runApp('module-manifest', '--json', folder, '--check')
  t.equal(exitCode, 4)
  t.match(response, { error: { code: 'manifest-differs', message: /package\.json \(routes, config\)/ } })
  t.strictSame(await read(), planted)
})

t.test('the manifests of our modules match their code', async (t) => {
  const folders = ['api-cart', 'api-event', 'api-product', 'api-purchase'].map((name) => join(packages, name))
  const { exitCode, stderr } = await runApp('module-manifest', '--json', ...folders, '--check')
  t.equal(exitCode, 0, stderr)
})

t.test('code that does not load or is not a module is refused with the reason', async (t) => {
  for (const [code, reason] of [
    ['throw new Error("no luck")', /no luck/],
    ['process.exit(0)', /ended with exit code 0/],
    ['export default async () => {}', /not come from defineModule/],
    [
      `import { defineModule } from '@mortise/module-sdk'
       export default defineModule('bad').plugin(async (app, { database }) => database.many())`,
      /wait until it serves/,
    ],
  ] as const) {
    const { folder } = await folderOf(t, { main: code, json: json({}) })
    const { exitCode, json: response } = await runApp('module-manifest', '--json', folder)
    t.equal(exitCode, 4)
    t.match(response, { error: { code: 'module-failed', message: reason } })
  }
})

t.test('what an installation refuses is not written', async (t) => {
  const open = "{ config: { access: 'public' } }"
  const cors = `Object.assign(async () => {}, { [Symbol.for('plugin-meta')]: { name: '@fastify/cors' } })`
  const bad: [code: string, reason: RegExp, files?: Record<string, string>][] = [
    [`await app.register(${cors})`, /registers @fastify\/cors, and the host responds to preflight requests/],
    ['app.setErrorHandler(() => {})', /it calls setErrorHandler/],
    ["app.get('/stock', async () => 1)", /the route .*\/stock has no access/],
    [`app.options('/stock', ${open}, async () => 1)`, /routes/],
    [`app.get('/*', ${open}, async () => 1)`, /routes/],
    [`app.get('/:id', ${open}, async () => 1)`, /routes/],
    [`app.get('/health/stock', ${open}, async () => 1)`, /belongs to the host/],
    [
      `app.get('/stock', { ...${open}, validatorCompiler: () => () => true }, async () => 1)`,
      /validatorCompiler/,
    ],
    [
      '',
      /the tables stock, shelf .* have no common prefix/,
      { 'migrations/001-stock.sql': 'CREATE TABLE stock (id TEXT);\nCREATE TABLE shelf (id TEXT);' },
    ],
  ]
  for (const [code, reason, files = {}] of bad) {
    // A folder of its own: the probe of these tests keeps what it has loaded.
    await t.test(reason.source, async (t) => {
      const { folder, read } = await folderOf(t, {
        main: `import { defineModule } from '@mortise/module-sdk'
        export default defineModule('stock').plugin(async (app) => { ${code} })`,
        files,
        json: json({ routes: [] }),
      })
      const before = await read()
      const refused = await runApp('module-manifest', folder)
      t.not(refused.exitCode, 0, code)
      t.match(refused.stderr, reason)
      t.strictSame(await read(), before, 'nothing is written')
    })
  }
})
