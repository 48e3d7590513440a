import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, readLockFile } from '@mortise/application'
import { commandLockFile } from '@mortise/host'
import { acquireFileLock } from '@mortise/storage'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { started, until, withLateModules } from './late-modules.ts'
import { get, runningHost } from './running-host.ts'

// A host ends by itself for a block this long.
process.env.APP_HOST_BLOCKED_SECONDS = '0'

t.test('the changes of a host, one after the other', async (t) => {
  const application = await withLateModules(t)
  const { root, directory, run } = application
  const host = await started(t, application)
  const generation = async () => (await readLockFile(directory)).generation

  for (const [name, reason] of [
    ['rejects', /hello: it threw outside a request: late/],
    ['throws', /hello: it threw outside a request: late/],
    ['connects', /hello: an error had no listener: connect ECONNREFUSED/],
    ['blocks', /hello blocked the event loop for more than 5 s, at index\.js:\d+/],
  ] as const) {
    await t.test(`a change is reverted if its module ${name} while it is watched: exit 5`, async (t) => {
      const previous = await readLockFile(directory)
      const [next, saidBefore] = [previous.generation + 2, host.stderr.length]
      t.match(await run('module-install', '--yes', join(root, `${name}.tgz`), '--settle', '10'), {
        exitCode: 5,
        json: { error: { code: 'taken-back', message: reason } },
      })
      t.strictSame(await readLockFile(directory), { ...previous, generation: next })
      await until(async () => (await host.hello()).version === '1.0.0')
      t.match((await run('module-list')).json, { generation: next, modules: [{ state: 'active' }] })
      t.match((await run('module-history')).json.generations.at(-1), { takesBack: next - 1, reason })
      t.match((await run('audit', '--limit', '3')).json.records, [
        {
          actor: 'host',
          action: 'module-install',
          object: 'hello',
          outcome: 'reverted',
          details: { reason },
        },
        { actor: /^os:/, outcome: 'done' },
        {},
      ])
      await until(() => reason.test(host.stderr.slice(saidBefore)))
      // A generation that is no longer kept leaves its package to the next command.
      const { findings } = (await run('doctor')).json as { findings: { id: string }[] }
      t.strictSame(
        findings.filter(({ id }) => id !== 'store-unused'),
        [],
      )
    })
  }

  await t.test('a host waits for the running command before it reverts', async (t) => {
    const previous = await generation()
    await run('module-install', '--yes', join(root, 'rejects.tgz'))
    const lock = acquireFileLock(commandLockFile(directory))
    await until(async () => (await fetch(`${host.url}/hello`)).status === 503)
    t.equal(await generation(), previous + 1)
    lock?.release()
    await until(async () => (await generation()) === previous + 2)
    await until(async () => (await host.hello()).version === '1.0.0')
  })

  await t.test('a change that settles stays, and a module that fails later fails alone', async (t) => {
    const previous = await generation()
    t.match(await run('module-install', '--yes', join(root, 'sound.tgz'), '--settle', '10'), {
      exitCode: 0,
      json: { settled: true, live: true },
    })
    await fetch(`${host.url}/hello`, { headers: { reject: '1' } })
    await until(async () => (await fetch(`${host.url}/hello`)).status === 503)
    t.equal(await generation(), previous + 1)
  })

  await t.test('a reverted first installation is gone', async (t) => {
    await run('module-remove', 'hello')
    const previous = await generation()
    t.match(await run('module-install', '--yes', join(root, 'rejects.tgz')), {
      exitCode: 0,
      json: { live: true },
    })
    await until(async () => (await generation()) === previous + 2)
    t.strictSame((await readLockFile(directory)).modules, {})
    await until(async () => (await fetch(`${host.url}/hello`)).status === 404)
  })
})

t.test('a reverted enable disables the module, and can be repeated', async (t) => {
  const application = await withLateModules(t)
  const { root, directory, run } = application
  await run('module-install', '--yes', join(root, 'rejects.tgz'))
  await run('module-disable', 'hello')
  await started(t, application)
  for (const generation of [4, 6]) {
    t.match(await run('module-enable', 'hello', '--settle', '10'), { exitCode: 5 })
    const lock = await readLockFile(directory)
    t.match(lock, { generation: generation + 1, modules: { hello: { enabled: false } } })
  }
})

t.test('a module whose routes fail more than before is reverted', async (t) => {
  const { root, directory, run } = await withLateModules(t)
  const running = await runningHost(t, directory)
  await run('module-install', '--yes', join(root, 'fails.tgz'))
  const failing = async () => (await fetch(`${running.url}/hello`, { headers: { fail: '1' } })).status
  for (const _ of Array(4)) t.equal(await failing(), 500)
  t.match((await get(running, '/hello')).body, { version: '2.0.0' }, 'too few to decide')
  await failing()
  await until(async () => (await readLockFile(directory)).generation === 3)
  await until(async () => (await get(running, '/hello')).body.version === '1.0.0')
  const { generations } = (await run('module-history')).json
  t.match(generations.at(-1), {
    reason: /hello failed 5 of \d+ requests \(5xx\), and before the change 0 of 0/,
  })
})

t.test('a wait shorter than the watch reports that the watch continues', async (t) => {
  const { root, directory, run } = await withLateModules(t)
  await runningHost(t, directory)
  t.match(await run('module-install', '--yes', join(root, 'sound.tgz'), '--settle', '1'), {
    exitCode: 0,
    json: { settled: false },
  })
  t.match(await run('module-enable', 'hello', '--settle', 'long'), { exitCode: 2 })
  t.notOk('settled' in (await run('module-enable', 'hello', '--settle', '0')).json)
})

t.test('a change is not reverted after another change', async (t) => {
  const { root, directory, run } = await withLateModules(t)
  const running = await runningHost(t, directory)
  await run('module-install', '--yes', join(root, 'fails.tgz'))
  await run('module-install', '--yes', await sampleTarball(join(root, 'b.tgz'), { id: 'b' }))
  const failing = () => fetch(`${running.url}/hello`, { headers: { fail: '1' } })
  for (const _ of Array(10)) await failing()
  t.match((await get(running, '/hello')).body, { version: '2.0.0' })
  t.equal((await readLockFile(directory)).generation, 3)
})

t.test('a setting that makes a module fail is reverted with the text of the file', async (t) => {
  const { root, directory, run } = await withLateModules(t)
  const file = await sampleTarball(join(root, 'mood.tgz'), {
    id: 'mood',
    manifest: { config: 'config.json', routes: ['GET /mood'] },
    files: { 'config.json': JSON.stringify({ type: 'object', properties: { bad: { type: 'boolean' } } }) },
    plugin: `app.get('/mood', { config: { access: 'public' } }, async () => {
      if (context.settings.bad && process.env.MORTISE_TEST_LATE) throw new Error('bad mood')
      return {}
    })`,
  })
  await run('module-install', '--yes', file)
  const before = await readFile(configFile(directory), 'utf8')
  const running = await runningHost(t, directory)
  t.match(await run('config', 'set', 'mood.bad', 'true'), {
    exitCode: 0,
    json: { live: true, generation: 3 },
  })
  for (const _ of Array(5)) await fetch(`${running.url}/mood`)
  await until(async () => (await get(running, '/mood')).status === 200)
  t.equal(await readFile(configFile(directory), 'utf8'), before)
  t.equal((await readLockFile(directory)).generation, 4)
  t.match((await run('audit')).json.records[0], {
    action: 'config',
    object: 'mood.bad',
    outcome: 'reverted',
  })
})
