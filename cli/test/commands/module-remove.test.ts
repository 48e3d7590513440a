import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'

t.test('a module that was removed is nothing to do', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  await run('module-remove', 'hello')
  for (const name of ['hello', '@acme/hello'])
    t.match(await run('module-remove', name), { exitCode: 0, json: { removed: [], absent: [name] } })
  t.equal((await readLockFile(directory)).generation, 2)
})

t.test('what was never installed is nothing to do, but a name like an installed one is a typo', async (t) => {
  const { root, directory, run } = await testApplication(t)
  for (const words of [['hello'], ['api-cart', '@acme/none'], ['--purge', 'hello', '--yes']])
    t.match(await run('module-remove', ...words), { exitCode: 0, json: { removed: [] } })
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  for (const words of [['helo'], ['hello', 'helo'], ['--purge', 'helo']]) {
    t.match(await run('module-remove', ...words), {
      exitCode: 3,
      json: { error: { code: 'not-installed', hint: /^Did you mean hello/ } },
    })
  }
  t.ok((await readLockFile(directory)).modules.hello)
})

t.test('several modules are removed as one change, by id or package name', async (t) => {
  const { root, directory, run } = await testApplication(t)
  for (const id of ['a', 'b', 'c'])
    await run('module-install', '--yes', await sampleTarball(join(root, `${id}.tgz`), { id }))
  const { exitCode, json } = await run('module-remove', 'a', '@acme/c', 'a')
  t.equal(exitCode, 0)
  t.match(json, { generation: 4, removed: ['a', 'c'], absent: [] })
  t.strictSame(Object.keys((await readLockFile(directory)).modules), ['b'])
})

t.test('a missing name is wrong usage', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('module-remove'), { exitCode: 2 })
})

t.test(
  'the JSON Schema of app.config.json has the settings of the modules that are installed, and no others',
  async (t) => {
    const { root, directory, run } = await testApplication(t)
    const schema = {
      type: 'object',
      properties: { greeting: { type: 'string' } },
      additionalProperties: false,
    }
    const file = await sampleTarball(join(root, 'hello.tgz'), {
      manifest: { config: 'config.json' },
      files: { 'config.json': JSON.stringify(schema) },
    })
    const settings = async () =>
      JSON.parse(await readFile(join(directory, '.app', 'app.config.schema.json'), 'utf8')).properties.modules
        .properties
    t.strictSame(await settings(), {})
    await run('module-install', '--yes', file)
    t.strictSame(await settings(), { hello: schema })
    await run('module-remove', 'hello')
    t.strictSame(await settings(), {})
  },
)

t.test('live says whether a host serves the generation, also when there was nothing to do', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.match((await run('module-install', '--yes', file)).json, { live: false })
  t.match((await run('module-install', '--yes', file)).json, { live: false, unchanged: ['hello'] })
  t.match(
    (await runApp('module-remove', 'hello', '--dir', directory)).stdout,
    /The application is not running/,
  )
  t.match((await run('module-remove', 'hello')).json, { live: false, absent: ['hello'] })
  await run('module-install', '--yes', file)
  await runningHost(t, directory)
  t.match((await run('module-install', '--yes', file)).json, { live: true, unchanged: ['hello'] })
  t.match((await runApp('module-remove', 'hello', '--dir', directory)).stdout, /host no longer serves it/)
  t.match((await run('module-remove', 'hello')).json, { live: true, absent: ['hello'] })
})
