import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile, storeDirectory, storedModule } from '@mortise/application'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { copiesOf, type TestApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'
import { skipPostgres, usePostgres } from '../test-on-engines.ts'

const installed = copiesOf(async ({ root, run }) => {
  const files = ['hello', 'other'].map((id) => sampleTarball(join(root, `${id}.tgz`), { id }))
  const { exitCode, stdout } = await run('module-install', '--yes', ...(await Promise.all(files)))
  if (exitCode !== 0) throw new Error(stdout)
})

async function started(t: Test, { directory }: TestApplication, ...options: string[]) {
  const running = startApp(t, ['start', '--port', '0', '--dir', directory, '--json', ...options])
  await running.says(/"workers": \[/)
  const { url } = JSON.parse(running.stdout)
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`)
    // biome-ignore lint/suspicious/noExplicitAny: whatever it returns
    return { status: response.status, body: (await response.json()) as any }
  }
  return { running, ask }
}

const locationOf = async ({ directory }: TestApplication, id: string) =>
  storedModule(directory, (await readLockFile(directory)).modules[id] as never)

/** What may have become of the store. */
const losses: Readonly<Record<string, (application: TestApplication) => Promise<unknown>>> = {
  'the whole store': ({ directory }) => rm(storeDirectory(directory), { recursive: true }),
  'one package': async (application) => rm(await locationOf(application, 'hello'), { recursive: true }),
  'a file of a package': async (application) => rm(join(await locationOf(application, 'hello'), 'index.js')),
  'the manifest of a package': async (application) =>
    writeFile(join(await locationOf(application, 'hello'), 'package.json'), '{'),
}

for (const [lost, lose] of Object.entries(losses)) {
  t.test(`a start restores ${lost}, and does not change the lock file`, async (t) => {
    const application = await installed(t)
    const { directory, run } = application
    const lock = await readLockFile(directory)
    await lose(application)
    const { running, ask } = await started(t, application)
    await running.says(/matches the lock file again/)
    t.match(await ask('/hello'), { status: 200, body: { version: '1.0.0' } })
    t.equal((await ask('/health/ready')).status, 200)
    t.equal((await ask('/nothing')).status, 404)
    t.strictSame(await readLockFile(directory), lock)
    t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
    t.match((await run('module-history')).json, { generation: 1 })
  })
}

t.test('while packages are missing, their routes return 503 and the host is not ready', async (t) => {
  const application = await installed(t)
  const { root, directory, run } = application
  await rename(join(root, 'hello.tgz'), join(root, 'gone.tgz'))
  await rm(storeDirectory(directory), { recursive: true })
  const { running, ask } = await started(t, application)
  await running.says(/Some packages could not be restored: .*hello\.tgz.*Check the path/)
  t.match(await ask('/hello'), { status: 503, body: { code: 'module-unavailable' } })
  t.match(await ask('/hello/'), { status: 404 })
  t.match(await ask('/health/ready'), {
    status: 503,
    body: { code: 'not-ready', detail: /missing.*: hello$/ },
  })
  t.equal((await ask('/health/live')).status, 200)
  t.match(await ask('/other'), { status: 200 }, 'what can be fetched is')
  t.match((await run('module-list')).json.modules, [
    { id: 'hello', state: 'failed', reason: /missing.*module-install/ },
    { id: 'other', state: 'active' },
  ])
  t.match((await run('doctor')).json.findings, [{ id: 'package-missing' }, { id: 'module-failed' }])

  await rename(join(root, 'gone.tgz'), join(root, 'hello.tgz'))
  t.match(await run('module-install', '--frozen'), { exitCode: 0, json: { restored: ['hello'], live: true } })
  t.match(await ask('/hello'), { status: 200 })
  t.equal((await ask('/health/ready')).status, 200)
  running.child.kill('SIGTERM')
  t.equal(await running.ended, 0)
})

t.test('a file in place of the store is reported, and the host serves what it can', async (t) => {
  const application = await installed(t)
  const { directory } = application
  await rm(storeDirectory(directory), { recursive: true })
  await writeFile(storeDirectory(directory), '')
  const { running, ask } = await started(t, application)
  await running.says(/Some packages could not be restored: .*\.app\/store/)
  t.match(await ask('/hello'), { status: 503, body: { code: 'module-unavailable' } })
  t.equal((await ask('/health/ready')).status, 503)
})

t.test('a fresh clone downloads the packages of its lock file when it starts', async (t) => {
  const application = await installed(t)
  const { directory, run } = application
  await rm(join(directory, '.app'), { recursive: true })
  const { running, ask } = await started(t, application)
  await running.says(/matches the lock file again/)
  t.match(await ask('/hello'), { status: 200 })
  t.match((await run('module-history')).json.generations.at(-1), {
    changes: ['+ hello 1.0.0', '+ other 1.0.0'],
  })
})

t.test('a start that restores packages can be stopped at once', async (t) => {
  const application = await installed(t)
  await rm(storeDirectory(application.directory), { recursive: true })
  const { running } = await started(t, application)
  await running.says(/Downloading packages that the store lacks/)
  running.child.kill('SIGTERM')
  t.equal(await running.ended, 0)
  t.match(await application.run('module-install'), { exitCode: 0 })
})

t.test('the store can be restored while the host runs', async (t) => {
  const { directory, run } = await installed(t)
  const running = await runningHost(t, directory)
  await rm(storeDirectory(directory), { recursive: true })
  t.match(await get(running, '/hello'), { status: 200 })
  t.match(await run('module-disable', 'other'), { exitCode: 5 }, 'the next generation could not be loaded')
  t.match(await get(running, '/hello'), { status: 200 })
  t.match(await run('module-install'), { exitCode: 0, json: { restored: ['hello', 'other'] } })
  t.match(await run('module-disable', 'other'), { exitCode: 0, json: { live: true } })
})

t.test('all processes apply restored packages', { skip: skipPostgres }, async (t) => {
  const application = await installed(t)
  const { directory } = application
  await usePostgres(t, directory)
  await rm(storeDirectory(directory), { recursive: true })
  const { running, ask } = await started(t, application, '--workers', '2')
  await running.says(/matches the lock file again/)
  for (let count = 0; count < 4; count += 1) t.equal((await ask('/hello')).status, 200)
})
