import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callRunningHost } from '@mortise/host'
import t from 'tap'
import { ownRole } from '../../packages/storage/test/postgres/own-role.ts'
import { skipPgbouncer, startPgbouncer } from '../../packages/storage/test/postgres/start-pgbouncer.ts'
import { temporarySchema, useDatabase } from './postgres-schema.ts'
import { testApplication } from './run-app.ts'
import { startApp } from './run-process.ts'
import { sampleTarball } from './sample-module.ts'
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

for (const mode of ['transaction', 'statement']) {
  const skip = skipPostgres || skipPgbouncer
  t.test(`commands and the host refuse PgBouncer in ${mode} mode, with advice`, { skip }, async (t) => {
    const { directory, root, run } = await testApplication(t)
    const { url } = await temporarySchema(t)
    await useDatabase(directory, await startPgbouncer(t, url, { pool_mode: mode }))
    const file = await sampleTarball(join(root, 'hello.tgz'))
    for (const command of [
      ['start'],
      ['module-install', file],
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
