import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import type { AuditRecord } from '@mortise/host'
import t, { type Test } from 'tap'
import { backedUp, count, write } from '../backed-up.ts'
import { killBefore } from '../kill-before.ts'
import { startApp } from '../run-process.ts'

// Two processes for each moment.
t.setTimeout(300_000)

const journalIn = (directory: string) => join(directory, '.app', 'restore.json')

t.test(
  'after kill -9 at any moment, data and lock file are as before or after, and the next command or start completes it',
  async (t) => {
    const { directory, run, file } = await backedUp(t)
    let completed = 0
    let ended: unknown = 'SIGKILL'
    for (let moment = 1; ended === 'SIGKILL'; moment++) {
      const { generation } = await readLockFile(directory)
      ended = await startApp(t, ['restore', file, '--dir', directory], killBefore(moment)).ended
      const isDecided = existsSync(journalIn(directory))
      const said =
        isDecided && completed === 0
          ? await start(t, directory)
          : (await run('module-remove', 'nothing')).stderr
      t.equal(/Completed "restore .*interrupted/.test(said), isDecided)
      const after = (await readLockFile(directory)).generation
      t.equal(after, isDecided || ended === 0 || after > generation ? generation + 1 : generation)
      t.equal(await count(t, directory), after > generation ? 3 : 5, `killed before ${moment}`)
      t.strictSame(leftIn(directory), [])
      const { records } = (await run('audit')).json
      const own = records.filter(({ details }: AuditRecord) => details?.generation === generation + 1)
      t.equal(own.length, after > generation ? 1 : 0, 'on record once, if it happened')
      if (isDecided) completed += 1
      if (after > generation) await write(directory, 2)
    }
    t.equal(ended, 0)
    t.ok(completed >= 4, `${completed} were completed`)
  },
)

function leftIn(directory: string): string[] {
  return ['.', '.app', 'data', '.app/store']
    .flatMap((folder) => readdirSync(join(directory, folder)))
    .filter((name) => /\.restored$|\.tmp$|^\.staging|restore\.json/.test(name))
}

/** A start completes it before it opens the database. @returns what it said on the way */
async function start(t: Test, directory: string): Promise<string> {
  const started = startApp(t, ['start', '--port', '0', '--dir', directory])
  await started.says(/Serving/)
  started.child.kill('SIGKILL')
  await started.ended
  return started.stderr
}
