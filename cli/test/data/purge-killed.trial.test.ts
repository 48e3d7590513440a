import { randomInt } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backedUp, count, hasTables } from '../backed-up.ts'
import { killBefore } from '../kill-before.ts'
import { startApp } from '../run-process.ts'

t.test(
  'after kill -9 at any moment of a purge, the repeated command completes it, and no row is lost',
  async (t) => {
    const { directory, run } = await backedUp(t)
    // The removal itself is a change like others; from here on there is a purge to be killed.
    await run('module-remove', 'entry')
    let ended: unknown = 'SIGKILL'
    // Every other moment is enough here: `npm run verify -- kill` tries system calls.
    for (let moment = 1 + randomInt(2); ended === 'SIGKILL'; moment += 2) {
      ended = await startApp(t, ['module-remove', '--purge', 'entry', '--dir', directory], killBefore(moment))
        .ended
      const again = await run('module-remove', '--purge', 'entry')
      t.equal(again.exitCode, 0, `killed before ${moment}: ${again.stdout}`)
      t.notOk(await hasTables(directory))
      t.strictSame(await leftIn(directory), [])
      await bringBack(t, directory, run)
      t.equal(await count(t, directory), 5)
    }
    t.equal(ended, 0)
  },
)

/** From the newest archive. */
async function bringBack(
  t: Test,
  directory: string,
  run: (...argv: string[]) => Promise<{ exitCode: number }>,
): Promise<void> {
  const folder = join(directory, '.app', 'purged')
  const numbers = (await readdir(folder)).map((name) => Number(/^entry-2-(\d+)\.tgz$/.exec(name)?.[1] ?? 1))
  const newest = Math.max(...numbers)
  const name = newest === 1 ? 'entry-2.tgz' : `entry-2-${newest}.tgz`
  t.equal((await run('restore', join(folder, name))).exitCode, 0)
}

async function leftIn(directory: string): Promise<string[]> {
  const names = await Promise.all(
    ['.app', '.app/store', '.app/purged'].map((folder) => readdir(join(directory, folder))),
  )
  return names.flat().filter((name) => /\.tmp$|^\.staging/.test(name))
}
