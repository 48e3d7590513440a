import { randomUUID } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile } from '@mortise/application'
import { Application } from '@mortise/host/serving'
import t from 'tap'
import { temporarySchema, useDatabase } from '../postgres-schema.ts'
import { testApplication } from '../run-app.ts'
import { runningHost } from '../running-host.ts'
import { skipPostgres } from '../test-on-engines.ts'

const secret = 'a secret of more than 32 bytes, of the environment'

t.test('a command uses the database and the secret of the running host', async (t) => {
  const { directory, root, run } = await testApplication(t)
  const database = join(root, 'elsewhere.db')
  const environment = { APP_LOG_LEVEL: 'silent', APP_DATABASE: database, APP_SECRET: secret }
  const host = await Application.start({ directory, port: 0, environment })
  t.teardown(() => host.close())
  const { token } = (await run('token', 'alice', '--scope', 'metrics:read')).json
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '192.0.2.1' }
  t.equal((await fetch(`${host.url}/metrics`, { headers })).status, 200)
  t.match((await run('doctor')).json, { findings: [] })
  t.notOk('APP_SECRET' in process.env, 'and leaves nothing behind')

  for (const [name, value] of [
    ['APP_DATABASE', 'data/app.db'],
    ['APP_SECRET', `${secret}, another one`],
  ] as const) {
    process.env[name] = value
    const { exitCode, json } = await run('backup', join(root, 'x.tgz'))
    delete process.env[name]
    t.match(
      { exitCode, json },
      { exitCode: 2, json: { error: { code: 'other-environment', message: name } } },
    )
    t.notMatch(json.error.message, secret)
  }
})

t.test('host and command read the environment file that the configuration names', async (t) => {
  const { directory, root, run } = await testApplication(t)
  const file = join(root, 'shop.env')
  await writeFile(file, `APP_SECRET='${secret}'\nAPP_NAME=from the file\n`)
  const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
  await writeFile(configFile(directory), JSON.stringify({ ...config, envFile: '../shop.env' }))
  t.match((await run('config', 'get', 'name')).json, { value: 'from the file', source: 'environment' })
  process.env.APP_NAME = 'a variable wins'
  t.match((await run('config', 'get', 'name')).json, { value: 'a variable wins' })
  delete process.env.APP_NAME
  await rm(file)
  t.match((await run('token', 'alice')).json.error, {
    exitCode: 2,
    code: 'env-file-unreadable',
    message: file,
  })
  t.match((await run('doctor')).json.findings, [{ id: 'env-file-unreadable' }])
  t.equal((await run('config', 'unset', 'envFile')).exitCode, 0)
  t.match((await run('doctor')).json.findings, [])
})

t.test('another password, user or host name is the same database', { skip: skipPostgres }, async (t) => {
  const { directory, run, root } = await testApplication(t)
  const { schema, url, execute } = await temporarySchema(t)
  const [ann, ben] = [`${schema}_a`, `${schema}_b`]
  const urlFor = (username: string, password: string, host = '127.0.0.1') =>
    Object.assign(new URL(url), { username, password, hostname: host }).href
  for (const role of [ann, ben]) await execute(`CREATE ROLE ${role} LOGIN PASSWORD 'first'`)
  t.teardown(async () => {
    for (const role of [ben, ann]) await execute(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)
  })
  await execute(`CREATE SCHEMA ${schema} AUTHORIZATION ${ann}; GRANT ${ann} TO ${ben}`)
  await useDatabase(directory, urlFor(ann, 'first'))
  await runningHost(t, directory)
  const exitCodes = async (database?: string) => {
    if (database !== undefined) process.env.APP_DATABASE = database
    const lines = ['doctor', 'module-list', 'audit', 'token ann', `backup ${root}/${randomUUID()}.tgz`]
    const found = []
    for (const line of lines) found.push((await run(...line.split(' '))).exitCode)
    delete process.env.APP_DATABASE
    return found
  }
  const right = [0, 0, 0, 0, 0]
  t.strictSame(await exitCodes(urlFor(ann, 'first', 'localhost')), right, 'another name of the server')
  t.strictSame(await exitCodes(urlFor(ben, 'first')), right, 'another user')
  t.strictSame(await exitCodes(urlFor(ann, 'wrong')), right, 'a wrong password: that of the host is used')

  await execute(`ALTER ROLE ${ann} PASSWORD 'second'`)
  const withOldHost = await exitCodes(urlFor(ann, 'second'))
  t.strictSame(withOldHost.slice(0, -1), right.slice(0, -1), 'a new password in the environment')
  t.equal(withOldHost.at(-1), 1, 'the host itself makes the backup, and has the old one')
  await useDatabase(directory, urlFor(ann, 'second'))
  t.strictSame(await exitCodes(), right, 'a new password in the settings')
})

t.test(
  'a copy of the database is another database, although it has the same id',
  { skip: skipPostgres },
  async (t) => {
    const { directory, run } = await testApplication(t)
    const { schema, url, execute } = await temporarySchema(t)
    await useDatabase(directory, url)
    await runningHost(t, directory)
    await execute(`CREATE SCHEMA ${schema}_copy;
    CREATE TABLE ${schema}_copy.mortise_identity AS SELECT * FROM mortise_identity`)
    process.env.APP_DATABASE = `${url}_copy`
    const refused = await run('audit')
    delete process.env.APP_DATABASE
    t.match(refused, {
      exitCode: 2,
      json: { error: { code: 'other-environment', message: /_copy".*another one/ } },
    })
  },
)
