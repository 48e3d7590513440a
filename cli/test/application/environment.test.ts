import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configFile } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import t from 'tap'
import { testApplication } from '../run-app.ts'

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
