import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/config.ts'
import { drainSecondsOf } from '../../src/config/drain-seconds.ts'
import { temporaryFolder } from '../application-folder.ts'

t.test('a drain takes the seconds of the setting; without one, 5, and none on a terminal', async (t) => {
  const directory = await temporaryFolder(t)
  const seconds = async (environment = {}) => drainSecondsOf(await readConfig(directory, environment))
  const terminal = (isTTY: boolean) => {
    for (const stream of [process.stdout, process.stderr]) Object.assign(stream, { isTTY })
  }
  const { isTTY } = process.stderr
  t.teardown(() => terminal(isTTY))
  terminal(false)
  t.equal(await seconds(), 5)
  terminal(true)
  t.equal(await seconds(), 0)
  await writeFile(join(directory, 'app.config.json'), '{"server":{"drainSeconds":7}}')
  t.equal(await seconds(), 7)
  t.equal(await seconds({ APP_SERVER_DRAIN_SECONDS: '0' }), 0)
  await t.rejects(seconds({ APP_SERVER_DRAIN_SECONDS: '-1' }), /APP_SERVER_DRAIN_SECONDS/)
})
