import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { inspectDatabase } from '../../src/inspect-database.ts'
import { openStorage } from '../../src/open-storage.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'

/** Another process locks a file, until the function that this returns is called. */
async function lock(t: Test, file: string, mode: string): Promise<{ pid: number; end: () => Promise<void> }> {
  const program = new URL('../fixtures/lock-file.js', import.meta.url)
  const child = fork(program, [file, mode])
  const end = async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.disconnect()
    await ended
  }
  t.teardown(end)
  await once(child, 'message')
  return { pid: child.pid as number, end }
}

t.test('a file that another process has locked is named, with that process', async (t) => {
  const { write } = await temporaryMigrations(t)
  const file = join(t.testdirName, 'locked.db')
  const set = write('memo', { '001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)' })
  const open = () => openStorage({ file, onFatal: t.fail })
  const first = await open()
  await first.migrate([set])
  const next = write('note', { '001-note.sql': 'CREATE TABLE note (id TEXT PRIMARY KEY)' })

  const writer = await lock(t, file, 'NORMAL')
  const who = process.platform === 'linux' ? `process ${writer.pid} \\(.+\\)` : 'another process'
  const locked = { name: 'DatabaseLockedError', message: new RegExp(`^${who} has locked .*locked.db`) }
  await t.rejects(first.migrate([next]), locked)
  await writer.end()
  await first.migrate([next])
  await first.close()

  const owner = await lock(t, file, 'EXCLUSIVE')
  const owned = { name: 'DatabaseLockedError', message: / has locked .*locked.db/ }
  await t.rejects(open(), owned)
  await t.rejects(
    inspectDatabase({ file }, [set], function* () {}),
    owned,
  )
  await owner.end()
  await (await open()).close()
})
