import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import { commandLockFile } from '@mortise/host'
import t from 'tap'
import { killBefore } from './kill-before.ts'
import { started, until, withLateModules } from './late-modules.ts'
import { runApp } from './run-app.ts'

t.test('after kill -9 during a revert, the state is old or new, and recorded once', async (t) => {
  const application = await withLateModules(t)
  const { root } = application
  let [before, after] = [0, 0]
  // Every other one is enough here: `npm run verify -- kill` tries system calls.
  for (let moment = 1 + randomInt(2); moment < 40; moment += 2) {
    const directory = join(root, `copy-${moment}`)
    await cp(application.directory, directory, { recursive: true })
    const host = await started(t, { ...application, directory }, killBefore(moment)).catch(() => undefined)
    // Killed before it serves, or by what the start itself writes.
    if (host === undefined) continue
    await runApp('module-install', '--yes', join(root, 'rejects.tgz'), '--dir', directory)
    // The last that it does is to let go of the command lock.
    const owner = `${commandLockFile(directory)}.owner`
    const isOver = async () => (await readLockFile(directory)).generation === 3 && !existsSync(owner)
    const hasEnded = () => host.child.exitCode !== null || host.child.signalCode !== null
    await until(async () => hasEnded() || (await isOver()))
    const isLast = !hasEnded()
    const { generation } = await readLockFile(directory)
    if (generation === 2) before += 1
    if (generation === 3) after += 1
    t.ok(generation === 1 || generation === 2 || generation === 3)
    if (isLast) host.child.kill('SIGKILL')
    await host.ended
    const next = await started(t, { ...application, directory })
    const { json } = await runApp('audit', '--dir', directory, '--json')
    const back = json.records.filter((record: { actor: string }) => record.actor === 'host')
    t.equal(back.length, (await readLockFile(directory)).generation === 3 ? 1 : 0, `killed before ${moment}`)
    next.child.kill('SIGKILL')
    await next.ended
    if (isLast) break
  }
  t.ok(before > 0 && after > 1, `${before} before, ${after} after`)
})
