import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleFolder } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const version = (number: string) => {
  const { 'package.json': json, ...files } = sampleFiles({ version: number }) as { 'package.json': string }
  return published(JSON.parse(json), files)
}

/** An application that installed 1.0.0 when it was the newest; the rest was published since. */
async function outdated(t: Test, ...since: string[]) {
  const application = await testApplication(t)
  const packages = [version('1.0.0')]
  const { registry } = await fakeRegistry(t, packages)
  process.env.npm_config_registry = registry
  t.equal((await application.run('module-install', '--yes', '@acme/hello')).exitCode, 0)
  packages.push(...since.map(version))
  return application
}

t.test('upgrade installs the newest version in the requested range, live', async (t) => {
  const { directory, run } = await outdated(t, '1.1.0', '1.2.0', '2.0.0')
  const running = await runningHost(t, directory)
  t.match(await run('module-upgrade'), {
    exitCode: 0,
    json: { installed: [{ id: 'hello', version: '1.2.0', replaces: '1.0.0' }], live: true },
  })
  t.match(await get(running, '/hello'), { body: { version: '1.2.0' } })
  t.match(await run('module-upgrade', 'hello'), {
    exitCode: 0,
    json: { installed: [], unchanged: ['hello'] },
  })
  t.match((await run('module-rollback')).json, { to: 1 })
  t.match(await get(running, '/hello'), { body: { version: '1.0.0' } })
})

t.test('upgrade installs a named version, also outside the range, and keeps its range', async (t) => {
  const { directory, run } = await outdated(t, '2.0.0', '2.1.0')
  t.match(await run('module-upgrade', 'hello@2.0.0'), {
    exitCode: 0,
    json: { installed: [{ version: '2.0.0' }] },
  })
  t.match((await readLockFile(directory)).modules, { hello: { version: '2.0.0' } })
  t.match(
    await run('module-upgrade', 'hello@1.0.0'),
    { exitCode: 0, json: { installed: [{ version: '1.0.0', replaces: '2.0.0' }] } },
    'an older one too',
  )
  await run('module-disable', 'hello')
  const disabled = await runApp('module-upgrade', 'hello@2.0.0', '--dir', directory)
  t.match(disabled.stdout, /Still disabled\. Next: app module-enable hello/)
  await run('module-enable', 'hello')
  t.match(await run('module-upgrade', 'hello@9.9.9'), { exitCode: 3 })
  t.match(await run('module-upgrade', 'hello@new'), { exitCode: 2 })
})

t.test('upgrade reads a folder again', async (t) => {
  const { root, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'mine'))
  await run('module-install', '--yes', folder)
  t.match(await run('module-upgrade', 'hello'), { json: { installed: [], unchanged: ['hello'] } })
  await sampleFolder(folder, { version: '1.0.1' })
  t.match(await run('module-upgrade', 'hello'), {
    json: { installed: [{ version: '1.0.1', replaces: '1.0.0' }] },
  })
  t.match(await run('module-upgrade', 'hello@1.0.2'), {
    exitCode: 2,
    json: { error: { message: /one version only/ } },
  })
  for (const path of [folder, './mine', 'files/mine.tgz', 'mine.tgz']) {
    const hint = new RegExp(`from there: app module-install ${path}$`)
    t.match(await run('module-upgrade', path), {
      exitCode: 3,
      json: { error: { code: 'not-installed', hint } },
    })
  }
})

t.test('--dry-run prints the plan and changes nothing', async (t) => {
  const { directory, run } = await outdated(t, '1.1.0')
  const before = await readFile(join(directory, 'modules.lock.json'), 'utf8')
  for (const command of [['module-upgrade'], ['module-install', '--yes', '@acme/hello@1.1.0']]) {
    const { exitCode, json, stderr } = await run(...command, '--dry-run')
    t.equal(exitCode, 0)
    t.match(json, {
      dryRun: true,
      installed: [{ id: 'hello', version: '1.1.0', replaces: '1.0.0' }],
      live: false,
    })
    t.match(stderr, /hello 1\.1\.0 \(instead of 1\.0\.0\)/)
  }
  t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), before)
  t.match((await run('module-history')).json.generations.length, 2)
})
