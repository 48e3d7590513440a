import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readLock } from '../src/host.ts'
import { killBefore } from './kill-before.ts'
import { started, until, withLateModules } from './late-modules.ts'
import { runApp } from './run-app.ts'

t.test(
  'code that never returns ends the host, which then starts with what was installed before',
  async (t) => {
    const application = await withLateModules(t)
    const { root, directory, run } = application
    const host = await started(t, application)
    const reason = /hello has held the event loop for 30 s, at index\.js:\d+/
    t.match(await run('module-install', join(root, 'hangs.tgz'), '--settle', '10'), {
      exitCode: 5,
      json: { error: { code: 'taken-back', message: reason } },
    })
    t.equal(await host.ended, 'SIGKILL')
    t.match(host.stderr, reason)
    t.equal((await readLock(directory)).generation, 3)
    const next = await started(t, application)
    t.match(await next.hello(), { version: '1.0.0' })
    t.match((await run('audit')).json.records[0], { outcome: 'taken back', details: { reason } })
  },
)

t.test('kill -9 of the host while it takes a change back: before or after, on record once', async (t) => {
  const application = await withLateModules(t)
  const { root } = application
  let [before, after] = [0, 0]
  for (let moment = 1; moment < 40; moment++) {
    const directory = join(root, `copy-${moment}`)
    await cp(application.directory, directory, { recursive: true })
    const host = await started(t, { ...application, directory }, killBefore(moment)).catch(() => undefined)
    // Killed before it serves, or by what the start itself writes.
    if (host === undefined) continue
    await runApp('module-install', join(root, 'rejects.tgz'), '--dir', directory)
    const isOver = async () =>
      (await runApp('audit', '--dir', directory, '--json')).stdout.includes('taken back')
    const ended = await Promise.race([host.ended, until(isOver)])
    const { generation } = await readLock(directory)
    if (generation === 2) before += 1
    if (generation === 3) after += 1
    t.ok(generation === 1 || generation === 2 || generation === 3)
    if (ended === undefined) host.child.kill('SIGKILL')
    await host.ended
    const next = await started(t, { ...application, directory })
    const { json } = await runApp('audit', '--dir', directory, '--json')
    const back = json.records.filter((record: { actor: string }) => record.actor === 'host')
    t.equal(back.length, (await readLock(directory)).generation === 3 ? 1 : 0, `killed before ${moment}`)
    next.child.kill('SIGKILL')
    await next.ended
    if (ended === undefined) break
  }
  t.ok(before > 0 && after > 1, `${before} before, ${after} after`)
})
