import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callRunningHost } from '@mortise/host'
import { Client } from 'pg'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { ownRole } from '../../packages/storage/test/postgres/own-role.ts'
import { startProxy } from '../../packages/storage/test/postgres/proxy.ts'
import { skipPgbouncer, startPgbouncer } from '../../packages/storage/test/postgres/start-pgbouncer.ts'
import { temporarySchema, useDatabase } from './postgres-schema.ts'
import { testApplication } from './run-app.ts'
import { startApp } from './run-process.ts'
import { skipPostgres } from './test-on-engines.ts'

const WORKERS = 2

t.test('processes take up a new password from envFile', { skip: skipPostgres }, async (t) => {
  const { directory, root, run } = await testApplication(t)
  const { url, role, execute } = await ownRole(t, await temporarySchema(t))
  const envFile = join(root, 'shop.env')
  const write = (password: string) =>
    writeFile(envFile, `APP_DATABASE='${url.replace(':secret@', `:${password}@`)}'`)
  await write('secret')
  const config = join(directory, 'app.config.json')
  await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), envFile }))
  const argv = ['start', '--workers', `${WORKERS}`, '--port', '0', '--dir', directory, '--json']
  const running = startApp(t, argv)
  await running.says(/"workers": \[[^\]]+\]/)
  const { url: address } = JSON.parse(running.stdout)
  const state = async () => await callRunningHost(directory, 'state')
  const isReady = async () => (await fetch(`${address}/health/ready`)).status === 200
  while ((await state())?.workers?.length !== WORKERS) await pause(20)

  await execute(`ALTER ROLE ${role} PASSWORD 'new'`)
  // Each process needs another connection now.
  await execute(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}' AND query LIKE 'LISTEN%'`,
  )
  const lines = (text: string) => (running.stdout + running.stderr).split(text).length - 1
  while (lines('refuses new connections') < WORKERS) await pause(20)
  t.match((await state())?.refusedConnections, /password authentication failed/)
  for (let number = 0; number < 2 * WORKERS; number++) t.ok(await isReady(), 'the open ones serve')
  const { json } = await run('doctor')
  t.match(
    json.findings.find(({ id }: { id: string }) => id === 'connections-refused'),
    { severity: 'error', message: /password authentication failed/, hint: /envFile/ },
  )

  await write('new')
  while (lines('accepts new connections again') < WORKERS) await pause(20)
  t.equal((await state())?.refusedConnections, undefined)
  t.match(await run('audit'), { exitCode: 0 }, 'commands use the new one, too')
  const [first] = (await state())?.workers ?? []
  process.kill(first?.pid as number, 'SIGKILL')
  const others = async () => ((await state())?.workers ?? []).filter(({ pid }) => pid !== first?.pid)
  while ((await others()).length < WORKERS) await pause(20)
  t.ok(await isReady(), 'the next process has the new one')
})

t.test('a running host names what an upgrade waits for, and an outage', { skip: skipPostgres }, async (t) => {
  const { directory, root, run } = await testApplication(t)
  const { url, schema } = await temporarySchema(t)
  const proxy = await startProxy(t, url)
  await useDatabase(directory, proxy.url)
  const memo = (version: string, files: Readonly<Record<string, string>>) =>
    sampleTarball(join(root, `memo-${version}.tgz`), {
      ...{ id: 'memo', version, files },
      manifest: { tables: 'memo', migrations: 'migrations' },
    })
  const first = { 'migrations/001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' }
  t.match(await run('module-install', await memo('1.0.0', first), '--yes'), { exitCode: 0 })
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'other' })
  t.match(await run('module-install', other, '--yes'), { exitCode: 0 })
  const argv = ['start', '--workers', `${WORKERS}`, '--port', '0', '--dir', directory, '--json']
  const running = startApp(t, argv)
  await running.says(/"workers": \[[^\]]+\]/)

  const holder = new Client({ connectionString: url.split('?')[0], application_name: 'report' })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`BEGIN; SELECT * FROM ${schema}.memo`)
  const next = await memo('1.1.0', {
    ...first,
    'migrations/002-text.sql': 'ALTER TABLE memo ADD COLUMN text TEXT',
  })
  const { exitCode, json } = await run('module-install', next, '--yes')
  t.match(
    { exitCode, ...json.error },
    { exitCode: 6, code: 'database-locked', message: /application report/ },
  )
  t.notMatch(JSON.stringify(json), /author/)
  await holder.query(`ROLLBACK; BEGIN; LOCK TABLE ${schema}.mortise_migration`)
  const disabled = await run('module-disable', 'other')
  t.match(
    { exitCode: disabled.exitCode, ...disabled.json.error },
    { exitCode: 5, code: 'activation-failed', message: /application report/ },
  )
  await holder.query('COMMIT')

  await proxy.cut()
  t.match(await run('module-list'), {
    exitCode: 0,
    json: {
      modules: [{ id: 'memo', version: '1.0.0' }, { id: 'other' }],
    },
  })
  t.match(await run('restart'), {
    exitCode: 4,
    json: {
      error: {
        code: 'not-restarted',
        message: /new process does not serve: process \d+ ended: PostgreSQL cannot be reached/,
      },
    },
  })
  await proxy.repair()
  const { url: address } = JSON.parse(running.stdout)
  while ((await fetch(`${address}/health/ready`)).status !== 200) await pause(20)
  while ((await run('audit')).exitCode !== 0) await pause(20)
  t.match(await run('module-install', next, '--yes'), { exitCode: 0 })
})

t.test('a purge names the session that stops it', { skip: skipPostgres }, async (t) => {
  const { directory, root, run } = await testApplication(t)
  const { url, schema } = await temporarySchema(t)
  await useDatabase(directory, url)
  const memo = await sampleTarball(join(root, 'memo.tgz'), {
    ...{ id: 'memo', files: { 'migrations/001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' } },
    manifest: { tables: 'memo', migrations: 'migrations' },
  })
  t.match(await run('module-install', memo, '--yes'), { exitCode: 0 })
  const holder = new Client({ connectionString: url.split('?')[0], application_name: 'report' })
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query(`BEGIN; SELECT * FROM ${schema}.memo`)
  const { exitCode, json } = await run('module-remove', 'memo', '--purge', '--yes')
  t.match(
    { exitCode, ...json.error },
    { exitCode: 6, code: 'database-locked', message: /application report/ },
  )
  t.match((await run('module-list')).json.modules, [{ id: 'memo' }], 'nothing was changed')

  await holder.query(`ROLLBACK; BEGIN; LOCK TABLE ${schema}.mortise_migration`)
  t.match((await run('doctor')).json.findings, [{ id: 'database-locked', message: /application report/ }])
  await holder.query('COMMIT')
  t.match(await run('module-remove', 'memo', '--purge', '--yes'), { exitCode: 0 })
})

t.test('doctor reports a database that is read-only', { skip: skipPostgres }, async (t) => {
  const { directory, run } = await testApplication(t)
  const { url, role, execute } = await ownRole(t, await temporarySchema(t))
  await useDatabase(directory, url)
  const running = startApp(t, ['start', '--port', '0', '--dir', directory, '--json'])
  await running.says(/"url": "/)
  await execute(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
  t.match((await run('doctor')).json.findings, [
    {
      id: 'storage-full',
      severity: 'error',
      message: /read-only/,
      hint: /RESET default_transaction_read_only/,
    },
  ])
  await execute(`ALTER ROLE ${role} RESET default_transaction_read_only`)
  t.strictSame((await run('doctor')).json.findings, [])
})

for (const mode of ['transaction', 'statement']) {
  const skip = skipPostgres || skipPgbouncer
  t.test(`commands and the host refuse PgBouncer in ${mode} mode, with advice`, { skip }, async (t) => {
    const { directory, root, run } = await testApplication(t)
    const { url } = await temporarySchema(t)
    await useDatabase(directory, await startPgbouncer(t, url, { pool_mode: mode }))
    const file = await sampleTarball(join(root, 'hello.tgz'))
    for (const command of [
      ['start'],
      ['module-install', file, '--yes'],
      ['audit'],
      ['backup', join(root, 'backup.tgz')],
    ]) {
      const { exitCode, json } = await run(...command)
      t.match({ exitCode, ...json.error }, { exitCode: 2, code: 'database-unfit' }, command.join(' '))
      t.match(json.error.message, /pool_mode = session/)
    }
    t.match((await run('doctor')).json.findings, [{ id: 'database-unfit', severity: 'error' }])
  })
}
