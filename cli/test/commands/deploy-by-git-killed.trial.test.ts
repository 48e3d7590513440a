import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readJournal } from '@mortise/installer/changes'
import t from 'tap'
import { checkOut, frozen, lockText, production, snapshot } from '../deployed-by-git.ts'
import { killBeforeNaming } from '../kill-before.ts'
import { startApp } from '../run-process.ts'

t.test('after a kill at each step, the next command completes the deployment', async (t) => {
  for (const path of ['journal.json', 'snapshots/1.db', 'generations/2.json']) {
    const application = await production(t)
    const { directory, run } = application
    const text = await checkOut(application, 'v2')
    const preload = killBeforeNaming(join(directory, '.app', path))
    const killed = startApp(t, [...frozen, '--dir', directory, '--json'], preload)
    t.equal(await killed.ended, 'SIGKILL')
    t.match(await run(...frozen), { exitCode: 0, json: { generation: 2 } }, `killed before ${path}`)
    t.equal(await lockText(application), text)
    t.match((await run('module-history')).json.generations.slice(1), [
      { generation: 1 },
      { generation: 2, changes: ['~ note 1.0.0 → 2.0.0'], present: true },
    ])
    t.match((await run('audit')).json.records.length, 2)
    t.equal(await readJournal(directory), undefined)
    t.ok(existsSync(snapshot(application, 1)), 'the snapshot precedes the migration')
  }
})
