import { readFileSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import {
  respondVersion,
  sampleFolder,
  sampleTarball,
} from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'

t.test('a running host says the access of routes: no module is probed', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const [probes, plugin] = [join(root, 'probes'), respondVersion('hello', '1.0.0')]
  const main = `import { defineModule } from '@mortise/module-sdk'
import { appendFileSync } from 'node:fs'
appendFileSync(${JSON.stringify(probes)}, 'loaded\\n')
export default defineModule('hello').plugin(async (app) => { ${plugin} })`
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz'), { main }))
  await runningHost(t, directory)
  const before = readFileSync(probes, 'utf8')
  t.match((await run('module-info', 'hello')).json, { access: { 'GET /hello': 'public' } })
  t.equal(readFileSync(probes, 'utf8'), before)
})

t.test('an installed module can be named by its id and its package name', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'hello.tgz'), { manifest: { tables: 'hello' } }),
  )
  const { integrity, tree } = (await readLockFile(directory)).modules.hello ?? {}
  for (const name of ['hello', '@acme/hello']) {
    const { exitCode, json } = await run('module-info', name)
    t.equal(exitCode, 0)
    t.match(json, {
      id: 'hello',
      package: '@acme/hello',
      version: '1.0.0',
      installed: true,
      routes: ['GET /hello'],
      tables: 'hello',
      files: 2,
      spec: 'file:../hello.tgz',
      manifest: { id: 'hello' },
      peers: [{ name: '@mortise/module-sdk' }],
    })
    t.strictSame([json.integrity, json.tree], [integrity, tree])
  }
})

t.test('the description has tables, and for installed modules the access of routes', async (t) => {
  const { root, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), {
    manifest: { tables: 'hello', migrations: 'migrations' },
    files: { 'migrations/001-hello.sql': 'CREATE TABLE hello (id TEXT PRIMARY KEY, size BIGINT NOT NULL)' },
  })
  const schema = [
    {
      name: 'hello',
      columns: [
        { name: 'id', type: 'TEXT', required: false },
        { name: 'size', type: 'BIGINT', required: true },
      ],
    },
  ]
  t.match((await run('module-info', file)).json, { schema, access: null, signed: null, breaking: [] })
  const bad = await sampleTarball(join(root, 'bad.tgz'), {
    id: 'bad',
    plugin: openWhileThere(join(root, 'up')),
  })
  await writeFile(join(root, 'up'), '')
  t.match(await run('module-install', '--yes', file, bad), { exitCode: 0 })
  await rm(join(root, 'up'))
  t.match((await run('module-info', 'hello')).json, { schema, access: { 'GET /hello': 'public' } })
  t.match((await run('module-info', 'bad')).json, { access: null }, 'it cannot be loaded any more')
  await run('module-disable', 'hello')
  t.match((await run('module-info', 'hello')).json, { schema, access: null })
})

const openWhileThere = (file: string) => `
  if (!(await import('node:fs')).existsSync('${file}')) throw new Error('down')
  app.get('/bad', { config: { access: 'public' } }, async () => ({}))`

t.test('a package can be described without installing or running it', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), { main: 'process.exit(1)' })
  const { exitCode, json } = await run('module-info', file)
  t.equal(exitCode, 0)
  t.match(json, {
    installed: false,
    id: 'hello',
    routes: ['GET /hello'],
    integrity: /^sha512-/,
    tree: /^sha512-/,
  })
  t.strictSame((await readLockFile(directory)).modules, {})
})

t.test(
  'a module that comes with Mortise is described by its short name; an unknown one is not found',
  async (t) => {
    const { run } = await testApplication(t)
    for (const name of ['api-cart', '@mortise/api-cart'])
      t.match(await run('module-info', name), { exitCode: 0, json: { installed: false, id: 'api-cart' } })
    t.match(await run('module-info', 'api-crat'), { exitCode: 3, json: { error: { hint: /api-cart/ } } })
  },
)

t.test('outside an application any package can be described, and no files are left', async (t) => {
  const root = t.testdir({})
  const folder = await sampleFolder(join(root, 'hello'))
  const file = await sampleTarball(join(root, 'hello.tgz'))
  for (const spec of [folder, file]) {
    const { exitCode, json } = await runApp('module-info', spec, '--json')
    t.equal(exitCode, 0)
    t.match(json, { installed: false, id: 'hello', spec: `file:${relative(process.cwd(), spec)}` })
  }
  t.match((await runApp('module-info', 'api-cart', '--json')).json, { installed: false, id: 'api-cart' })
  t.strictSame((await readdir(root)).sort(), ['hello', 'hello.tgz'])
  t.match(await runApp('module-info', 'nothing-like-it', '--json'), { exitCode: 3 })
  t.match(await runApp('module-info', file, '--dir', root, '--json'), { exitCode: 2 }, '--dir names one')
})
