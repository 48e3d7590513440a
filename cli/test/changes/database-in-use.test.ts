import { join } from 'node:path'
import { readConfig } from '@mortise/application'
import { acquireFileLock } from '@mortise/storage'
import t from 'tap'
import { testApplication } from '../run-app.ts'

t.test('a database that another command uses is busy, and the message names the command', async (t) => {
  const { directory, run } = await testApplication(t)
  const { databaseFile } = await readConfig(directory)
  const database = acquireFileLock(`${databaseFile}.lock`)
  t.teardown(() => database?.release())
  for (const command of ['start', 'openapi']) {
    const { exitCode, json } = await run(command)
    t.equal(exitCode, 1)
    t.match(json.error, { code: 'database-in-use', message: /Another process/ })
  }
  const command = acquireFileLock(join(directory, '.app', 'lock'))
  t.teardown(() => command?.release())
  for (const command of ['start', 'openapi']) {
    t.match(await run(command), { exitCode: 6, json: { error: { code: 'busy' } } })
  }
})
