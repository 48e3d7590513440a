import { readLockFile } from '@mortise/application'
import t from 'tap'
import { applicationWithRelease } from '../host-release.ts'
import { killBefore } from '../kill-before.ts'
import { startApp } from '../run-process.ts'

t.test('after a kill at any moment, the application has the old or the new host, complete', async (t) => {
  const { directory, run } = await applicationWithRelease(t, '1.1.0')
  const seen = new Set<string>()
  for (let count = 1; ; count += 4) {
    const killed = startApp(t, ['host-upgrade', '1.1.0', '--dir', directory], killBefore(count))
    const outcome = await killed.ended
    const left = await readLockFile(directory)
    seen.add(left.host ? 'after' : 'before')
    // The next command that changes something completes or removes what was left.
    t.equal((await run('module-enable', 'hello')).exitCode, 0)
    const lock = await readLockFile(directory)
    if (left.host) t.strictSame(lock, left, `${count}`)
    if (lock.host) t.match((await run('doctor')).json.findings, [], `${count}`)
    if (lock.host) t.equal((await run('module-rollback')).exitCode, 0)
    if (outcome === 'SIGKILL') continue
    t.equal(outcome, 0, killed.stderr)
    break
  }
  t.strictSame(seen, new Set(['before', 'after']))
})
