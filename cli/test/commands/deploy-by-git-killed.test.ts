import { existsSync } from 'node:fs'
import t from 'tap'
import { readJournal } from '../../src/install/journal.ts'
import { checkOut, frozen, lockText, production, snapshot } from '../deployed-by-git.ts'
import { killBefore } from '../kill-before.ts'
import { startApp } from '../run-process.ts'

t.test('killed at any moment, the next command completes the deployment', async (t) => {
  for (let count = 1; ; count += 1) {
    const application = await production(t)
    const { directory, run } = application
    const text = await checkOut(application, 'v2')
    const killed = startApp(t, [...frozen, '--dir', directory, '--json'], killBefore(count))
    const end = await killed.ended
    t.match(await run(...frozen), { exitCode: 0, json: { generation: 2 } }, `killed before step ${count}`)
    t.equal(await lockText(application), text)
    t.match((await run('module-history')).json.generations.slice(1), [
      { generation: 1 },
      { generation: 2, changes: ['~ note 1.0.0 → 2.0.0'], present: true },
    ])
    t.match((await run('audit')).json.records.length, 2)
    t.equal(await readJournal(directory), undefined)
    t.ok(existsSync(snapshot(application, 1)), 'the snapshot precedes the migration')
    if (end !== 'SIGKILL') break
  }
})
