import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

t.test('a module can be disabled and enabled while the host runs, by id or package name', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const running = await runningHost(t, directory)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  t.match(await run('module-disable', 'hello'), { exitCode: 0, json: { changed: ['hello'], live: true } })
  t.equal((await get(running, '/hello')).status, 404)
  t.match((await run('module-list')).json.modules, [{ id: 'hello', state: 'disabled' }])
  t.match(await run('module-disable', 'hello'), {
    exitCode: 0,
    json: { changed: [], unchanged: ['hello'], live: true },
  })
  t.match(await run('module-enable', '@acme/hello'), {
    exitCode: 0,
    json: { changed: ['hello'], live: true },
  })
  t.match(await get(running, '/hello'), { status: 200 })
  t.match(await run('module-enable', 'hello'), { json: { changed: [], live: true } })
})

t.test('a module that is not installed is not found', async (t) => {
  const { run } = await testApplication(t)
  for (const command of ['module-enable', 'module-disable', 'module-upgrade']) {
    t.match(
      await run(command, 'nothing'),
      { exitCode: 3, json: { error: { code: 'not-installed' } } },
      command,
    )
  }
})

t.test('a required module cannot be disabled, nor a module without its contract enabled', async (t) => {
  const { root, run } = await testApplication(t)
  const provider = await sampleTarball(join(root, 'p.tgz'), {
    id: 'p',
    manifest: { provides: { x: '1.0.0' } },
  })
  const user = await sampleTarball(join(root, 'u.tgz'), { id: 'u', manifest: { requires: { x: '^1.0.0' } } })
  await run('module-install', '--yes', provider, user)
  t.match(await run('module-disable', 'p'), {
    exitCode: 4,
    json: { error: { code: 'required', message: /u requires/ } },
  })
  t.match(await run('module-disable', 'p', 'u'), { exitCode: 0 })
  t.match(await run('module-enable', 'u'), { exitCode: 4, json: { error: { code: 'contract-missing' } } })
  t.match(await run('module-enable', 'u', 'p'), { exitCode: 0, json: { changed: ['u', 'p'] } })
})

t.test('a module whose route is now in use cannot be enabled', async (t) => {
  const { root, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'a.tgz'), { id: 'a' }))
  await run('module-disable', 'a')
  const thief = {
    id: 'b',
    manifest: { routes: ['GET /a'] },
    plugin: "app.get('/a', { config: { access: 'public' } }, async () => 1)",
  }
  t.match(await run('module-install', '--yes', await sampleTarball(join(root, 'b.tgz'), thief)), {
    exitCode: 0,
  })
  t.match(await run('module-enable', 'a'), { exitCode: 4, json: { error: { code: 'conflict' } } })
})
