import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { type ApplicationState, callRunningHost, controlSocket } from '@mortise/host'
import { readJournal } from '@mortise/installer/changes'
import t from 'tap'
import { respondVersion, sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { started, until } from './late-modules.ts'
import { testApplication } from './run-app.ts'

/** In the host alone: the probe has an empty environment. */
process.env.MORTISE_TEST_STOP = '1'
const stopsItself = `if (process.env.MORTISE_TEST_STOP) process.kill(process.pid, 'SIGSTOP')`

/** Options of node with which a process stops itself before it gives SQLite a text that has `words`. */
function stopBefore(words: string): string[] {
  const preload = `
    import { createRequire, syncBuiltinESMExports } from 'node:module'
    import threads from 'node:worker_threads'
    const { Worker } = threads
    threads.Worker = class extends Worker {
      constructor(file, options) {
        super(file, { ...options, execArgv: process.execArgv })
      }
    }
    syncBuiltinESMExports()
    const Database = createRequire(${JSON.stringify(import.meta.url)})('better-sqlite3')
    const real = Database.prototype.exec
    Database.prototype.exec = function (text) {
      if (this.name.endsWith('app.db') && text.includes(${JSON.stringify(words)})) process.kill(process.pid, 'SIGSTOP')
      return real.call(this, text)
    }`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

t.test('a host that is stopped', async (t) => {
  const application = await testApplication(t)
  const { root, directory, run } = application
  const host = await started(t, application, stopBefore('migrating_stop'))
  const state = async () => (await callRunningHost(directory, 'state')) as ApplicationState
  const { pid } = await state()

  await t.test('with a stopped host, every command ends and names its process', async (t) => {
    process.kill(pid, 'SIGSTOP')
    const begun = performance.now()
    for (const argv of [
      ['start'],
      ['module-list'],
      ['module-install', '--yes', await sampleTarball(join(root, 'hello.tgz'))],
      ['audit'],
      ['events'],
      ['backup', join(root, 'shop.tgz')],
      ['openapi'],
      ['restart'],
    ]) {
      const { exitCode, json } = await run(...argv)
      t.match(
        { exitCode, error: json.error },
        { exitCode: 1, error: { code: 'host-silent', message: new RegExp(`process ${pid}.*SIGSTOP`) } },
        argv.join(' '),
      )
      t.match(json.error.hint, `kill -9 ${pid}`)
    }
    for (const argv of [['module-history'], ['config', 'get', 'name'], ['token', 'alice']])
      t.match(await run(...argv), { exitCode: 0 }, argv.join(' '))
    t.match(await run('doctor'), {
      exitCode: 1,
      json: { findings: [{ id: 'host-silent', severity: 'error', message: `${pid}` }] },
    })
    t.ok(performance.now() - begun < 60_000)
    t.equal((await readLockFile(directory)).generation, 0)
    process.kill(pid, 'SIGCONT')
    await until(async () => (await run('doctor')).exitCode === 0)
  })

  await t.test('a continued host does nothing for a command that gave up', async (t) => {
    const file = (name: string) => join(root, `${name}.db`)
    process.kill(pid, 'SIGSTOP')
    const backup = (name: string) => callRunningHost(directory, 'backup', { file: file(name) })
    await t.rejects(backup('given-up'), { name: 'HostSilentError', pid })
    // The whole of it lies there when the host wakes.
    const socket = connect(controlSocket(directory))
    const body = JSON.stringify({ file: file('cut-off') })
    const head = 'POST /backup HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length'
    await new Promise<void>((resolve) => {
      socket.write(`${head}: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => resolve())
    })
    socket.destroy()
    process.kill(pid, 'SIGCONT')
    await until(async () => (await state().catch(() => undefined)) !== undefined)
    t.ok(await backup('wanted'))
    t.ok(existsSync(file('wanted')))
    t.notOk(existsSync(file('given-up')))
    t.notOk(existsSync(file('cut-off')))
  })

  await t.test('a change is reverted if the host is stopped during it, and not served later', async (t) => {
    const file = await sampleTarball(join(root, 'hello.tgz'), {
      plugin: `${stopsItself}
        app.get('/hello', { config: { access: 'public' } }, async () => ({}))`,
    })
    t.match(await run('module-install', '--yes', file), {
      exitCode: 5,
      json: { error: { code: 'activation-failed', message: new RegExp(`process ${pid}.*SIGSTOP`) } },
    })
    const { generation, modules } = await readLockFile(directory)
    t.same(modules, {})
    t.equal(await readJournal(directory), undefined)
    process.kill(pid, 'SIGCONT')
    await until(async () => (await state().catch(() => undefined))?.generation === generation)
    t.notMatch(host.stdout + host.stderr, /hello@/, 'it never served')
    t.match(await fetch(`${host.url}/hello`), { status: 404 })
    const sound = await sampleTarball(join(root, 'sound.tgz'), { id: 'sound' })
    t.match(await run('module-install', '--yes', sound), { exitCode: 0, json: { live: true } })
    t.match(await run('doctor'), { exitCode: 0 })
  })

  await t.test('if the host is stopped during a migration, the previous modules keep running', async (t) => {
    const { modules } = await readLockFile(directory)
    const file = await sampleTarball(join(root, 'migrating.tgz'), {
      id: 'migrating',
      manifest: { tables: 'migrating', migrations: 'migrations' },
      files: { 'migrations/001-migrating.sql': 'CREATE TABLE migrating_stop (id INTEGER PRIMARY KEY)' },
    })
    t.match(await run('module-install', '--yes', file), {
      exitCode: 1,
      json: { error: { code: 'host-silent' } },
    })
    t.strictSame((await readLockFile(directory)).modules, modules)
    t.equal(await readJournal(directory), undefined)
    process.kill(pid, 'SIGCONT')
    await until(async () => (await state().catch(() => undefined)) !== undefined)
    t.match(await run('doctor', '--fix'), { exitCode: 0 })
    const woken = until(async () => {
      process.kill(pid, 'SIGCONT')
      return (await readJournal(directory)) === undefined
    })
    t.match(await run('module-install', '--yes', file), { exitCode: 0, json: { live: true } })
    await woken
  })

  await t.test('a short pause of the host loses no change', async (t) => {
    const file = await sampleTarball(join(root, 'paused.tgz'), {
      id: 'paused',
      plugin: `${stopsItself}
        ${respondVersion('paused', '1.0.0')}`,
    })
    const waking = setInterval(() => process.kill(pid, 'SIGCONT'), 1_000)
    t.teardown(() => clearInterval(waking))
    t.match(await run('module-install', '--yes', file), { exitCode: 0, json: { live: true } })
    t.match(await (await fetch(`${host.url}/paused`)).json(), { version: '1.0.0' })
  })
})
