import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { killBefore } from './kill-before.ts'
import { runApp, testApplication } from './run-app.ts'
import { startApp } from './run-process.ts'

t.test('after kill -9 at any moment, the audit trail has a change exactly once if it happened', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  let ended: unknown = 'SIGKILL'
  let [happened, not] = [0, 0]
  for (let moment = 1; ended === 'SIGKILL'; moment++) {
    const copy = join(root, `${moment}`)
    await cp(directory, copy, { recursive: true })
    ended = await startApp(t, ['module-disable', 'hello', '--dir', copy], killBefore(moment)).ended
    await runApp('module-remove', 'nothing', '--dir', copy)
    const isDisabled = (await readLockFile(copy)).modules.hello?.enabled === false
    const { json } = await runApp('audit', '--dir', copy, '--json')
    const actions = json.records.map(({ action }: { action: string }) => action)
    t.strictSame(
      actions,
      isDisabled ? ['module-disable', 'module-install'] : ['module-install'],
      `killed before ${moment}`,
    )
    if (isDisabled) happened += 1
    else not += 1
  }
  t.equal(ended, 0)
  t.ok(happened > 3 && not > 0, `${happened} happened, ${not} did not`)
})
