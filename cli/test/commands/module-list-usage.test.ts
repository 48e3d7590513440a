import { join } from 'node:path'
import t from 'tap'
import { runApp, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'
import { sampleTarball } from '../sample-module.ts'

const plugin = `app.get('/hello', { config: { access: 'public' } }, async (request) => {
  if (request.headers.fail) throw new Error('as asked')
  return { version: '1.0.0' }
})`

t.test('--usage shows what each module has used since the host started', async (t) => {
  const { root, directory, run } = await testApplication(t)

  t.equal(
    (await run('module-install', await sampleTarball(join(root, 'hello.tgz'), { id: 'hello', plugin })))
      .exitCode,
    0,
  )
  t.match(await runApp('module-list', '--usage', '--dir', directory), {
    exitCode: 0,
    stdout: /^No host runs/,
  })
  t.match((await run('module-list', '--usage')).json, { modules: [{ id: 'hello', usage: null }] })
  const host = await runningHost(t, directory)
  t.match(await get(host, '/hello'), { status: 200 })
  t.match(await get(host, '/hello'), { status: 200 })
  const usage = { responses: 2, failures: 0, seconds: Number, inProgress: 0, connections: 0 }
  t.match(await run('module-list', '--usage'), { exitCode: 0, json: { modules: [{ id: 'hello', usage }] } })
  const { stdout } = await runApp('module-list', '--usage', '--dir', directory)
  t.match(stdout, /^module +responses +5xx +seconds +in progress +connections\nhello +2 +0 +\d+\.\d +0 +0\n/)
})
