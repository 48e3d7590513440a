import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'

t.test('the document has the routes of installed modules, with and without a host', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const alone = await run('openapi')
  t.equal(alone.exitCode, 0)
  t.match(alone.json, { openapi: /^3\.1/, paths: { '/hello': { get: {} } } })

  await runningHost(t, directory)
  t.strictSame((await run('openapi')).json.paths, alone.json.paths)
})
