import { existsSync } from 'node:fs'
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile, identityFile, secretFile } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import { renewIdentity } from '@mortise/installer/application'
import t, { type Test } from 'tap'
import { skip, temporarySchema } from './postgres-schema.ts'
import { copiesOf, runApp, type TestApplication } from './run-app.ts'
import { get, runningHost } from './running-host.ts'

/** An application that has served. */
const served = copiesOf(async ({ directory }) => {
  const host = await startedHost(directory)
  await host.close()
})

async function startedHost(directory: string) {
  return Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
}

const idIn = async (folder: string) => JSON.parse(await readFile(identityFile(folder), 'utf8')).database.id

/** Sets a variable for the rest of the test. */
function withVariable(t: Test, name: string, value: string): void {
  process.env[name] = value
  t.teardown(() => delete process.env[name])
}

async function refuses({ directory, run, root }: TestApplication, code: string, t: Test): Promise<void> {
  const before = await readFile(identityFile(directory), 'utf8')
  for (const words of [
    ['start', '--port', '0'],
    ['backup', join(root, 'x.tgz')],
    ['module-install', 'api-cart'],
    ['audit'],
  ]) {
    const { exitCode, json } = await run(...words)
    t.match({ exitCode, error: json.error }, { exitCode: 2, error: { code } }, words.join(' '))
  }
  t.match((await run('doctor', '--fix')).json.findings, [{ id: code, fixed: false }])
  t.equal(await readFile(identityFile(directory), 'utf8'), before)
  t.notOk(existsSync(join(root, 'x.tgz')))
}

t.test('a lost database is not replaced by a new one', async (t) => {
  const application = await served(t)
  const { directory, run } = application
  await rename(join(directory, 'data'), join(directory, 'elsewhere'))
  await refuses(application, 'database-lost', t)
  t.notOk(existsSync(join(directory, 'data', 'app.db')), 'none was made')
  await rm(join(directory, 'data'), { recursive: true, force: true })
  await rename(join(directory, 'elsewhere'), join(directory, 'data'))
  t.match((await run('doctor')).json, { findings: [] })
  t.equal((await get(await runningHost(t, directory), '/health/ready')).status, 200)
})

t.test('a database file that SQLite cannot read is named by commands that only switch', async (t) => {
  const { directory, run } = await served(t)
  t.match(await run('module-install', 'api-cart'), { exitCode: 0 })
  const file = join(directory, 'data', 'app.db')
  await writeFile(file, 'nonsense'.repeat(1000))
  for (const command of ['module-disable', 'module-remove']) {
    const { exitCode, json } = await run(command, 'api-cart')
    t.match({ exitCode, ...json.error }, { exitCode: 2, code: 'file-unreadable', message: file }, command)
  }
})

t.test('an emptied database file counts as lost', async (t) => {
  const application = await served(t)
  await writeFile(join(application.directory, 'data', 'app.db'), '')
  await refuses(application, 'database-lost', t)
})

t.test('the database of another application is refused', async (t) => {
  const application = await served(t)
  const { directory, root } = application
  const other = join(root, 'other')
  await cp(directory, other, { recursive: true })
  await rm(join(other, 'data'), { recursive: true })
  await writeFile(identityFile(other), '{ "database": null, "secret": null }')
  await (await startedHost(other)).close()
  withVariable(t, 'APP_DATABASE', join(other, 'data', 'app.db'))
  await refuses(application, 'other-database', t)
})

t.test('--new-database accepts another or a new database', async (t) => {
  const { directory } = await served(t)
  await rm(join(directory, 'data'), { recursive: true })
  await renewIdentity(directory, { database: null })
  const host = await runningHost(t, directory)
  t.equal((await get(host, '/health/ready')).status, 200)
})

t.test(
  'without an identity file, as in an image, an existing database is accepted and none is created',
  async (t) => {
    const { directory, run } = await served(t)
    await rm(identityFile(directory))
    await (await startedHost(directory)).close()
    await rm(identityFile(directory))
    await rm(join(directory, 'data'), { recursive: true })
    t.match((await run('start', '--port', '0')).json.error, { code: 'database-lost', hint: /app init/ })
    t.equal((await run('init')).exitCode, 0)
    await (await startedHost(directory)).close()
  },
)

t.test('a fresh clone gets its own database', async (t) => {
  const { directory, run } = await served(t)
  await rm(join(directory, '.app'), { recursive: true })
  await rm(join(directory, 'data'), { recursive: true })
  t.equal((await run('module-install')).exitCode, 0)
  await (await startedHost(directory)).close()
  t.ok(await idIn(directory))
})

t.test('a backup of the application itself keeps the identity of its database', async (t) => {
  const { directory, root, run } = await served(t)
  const before = await idIn(directory)
  t.equal((await run('backup', join(root, 'own.tgz'))).exitCode, 0)
  t.equal((await run('restore', join(root, 'own.tgz'))).exitCode, 0)
  await (await startedHost(directory)).close()
  t.equal(await idIn(directory), before)
})

t.test(
  'after the restore of a backup of another application, the loss of the database is noticed',
  async (t) => {
    const { directory, root, run } = await served(t)
    const idIn = async (folder: string) =>
      JSON.parse(await readFile(identityFile(folder), 'utf8')).database.id
    const other = join(root, 'other')
    await runApp('init', other)
    t.equal((await run('backup', join(root, 'own.tgz'))).exitCode, 0)
    t.equal((await runApp('restore', join(root, 'own.tgz'), '--dir', other)).exitCode, 0)
    await rename(join(other, 'data'), join(other, 'elsewhere'))
    t.match(await runApp('start', '--port', '0', '--dir', other), { exitCode: 2 })
    await rm(join(other, 'data'), { recursive: true, force: true })
    await rename(join(other, 'elsewhere'), join(other, 'data'))
    await (await startedHost(other)).close()
    t.not(await idIn(other), await idIn(directory))
  },
)

t.test('a missing schema is not created', { skip }, async (t) => {
  const application = await served(t)
  const { url } = await temporarySchema(t)
  withVariable(t, 'APP_DATABASE', `${url}_typo`)
  await refuses(application, 'other-database', t)
})

t.test('a secret that differs from the last start is refused', async (t) => {
  const { directory, run } = await served(t)
  const previous = await readFile(secretFile(directory), 'utf8')
  await writeFile(secretFile(directory), 'another secret that is as long as it must be')
  t.match((await run('token', 'alice')).json.error, { exitCode: 2, code: 'other-secret' })
  t.match((await run('start', '--port', '0')).json.error, { exitCode: 2, code: 'other-secret' })
  t.match((await run('doctor')).json.findings, [{ id: 'other-secret', severity: 'error' }])
  await writeFile(secretFile(directory), '')
  t.match((await run('doctor')).json.findings[0], { id: 'config-invalid', message: /secret in .* is empty/ })
  t.match((await run('start', '--port', '0')).json.error, { exitCode: 2, message: /is empty/ })
  await rm(secretFile(directory))
  t.match((await run('start', '--port', '0')).json.error, { exitCode: 2, code: 'secret-lost' })
  t.notOk(existsSync(secretFile(directory)), 'none was made')
  await writeFile(secretFile(directory), previous)
  t.equal((await run('token', 'alice')).exitCode, 0)
})

t.test('a lost configuration has to be restored, because it names the issuer of all callers', async (t) => {
  const { directory, run } = await served(t)
  await rm(configFile(directory))
  for (const words of [['doctor'], ['start'], ['init']]) {
    t.match(await run(...words), { exitCode: 2, json: { error: { code: 'config-lost' } } }, words.join(' '))
  }
  t.notOk(existsSync(configFile(directory)))
})

t.test('a database on another volume is not replaced by a snapshot', async (t) => {
  const { directory, root, run } = await served(t)
  withVariable(t, 'APP_DATABASE', join(root, 'elsewhere.db'))
  t.match((await run('doctor', '--fix')).json.findings, [{ id: 'other-database', fixed: false }])
  t.notOk(existsSync(join(root, 'elsewhere.db')))
  t.ok(existsSync(join(directory, 'data', 'app.db')))
})
