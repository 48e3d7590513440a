import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { currentTime, newId, sql } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'

const HOUR = 3_600_000

/** The clock of the process is `by` milliseconds off. */
function setClock(t: Test, by: number): void {
  const real = Date.now
  Date.now = () => real() + by
  t.teardown(() => {
    Date.now = real
  })
}

t.test('times never go back, also not with a restart and a clock that was set back', async (t) => {
  const file = join(t.testdir({}), 'app.db')
  const times: number[] = []
  const ids: string[] = []
  const write = async () => {
    const storage = await openStorage({ file })
    await storage.many(sql`SELECT 1 AS one`)
    times.push(currentTime())
    ids.push(newId('note'))
    await storage.close()
  }
  await write()
  // The last writes happened an hour ahead of the time that the clock has now.
  const ahead = (Date.now() + HOUR) / 1000
  utimesSync(file, ahead, ahead)
  await write()
  t.ok((times[1] as number) >= ahead * 1000)
  // SQLite writes its files with the time of the clock.
  const now = Date.now() / 1000
  utimesSync(file, now, now)
  await write()
  t.ok(statSync(`${file}.lock`).mtimeMs > Date.now(), 'the time is kept')
  t.strictSame(times, times.toSorted())
  t.strictSame(ids, ids.toSorted())
})

t.test('a second database counts only while it is open', async (t) => {
  const folder = t.testdir({})
  const ahead = Date.now() + HOUR
  const file = join(folder, 'app.db')
  await (await openStorage({ file })).close()
  utimesSync(file, ahead / 1000, ahead / 1000)
  const storage = await openStorage({ file })
  t.teardown(() => storage.close())
  const second = await openStorage({ file: join(folder, 'scratch.db') })
  t.ok(currentTime() < ahead)
  await second.close()
  t.ok(currentTime() >= ahead)
})

t.test('a clock that is set back while the host runs holds', async (t) => {
  const storage = await openStorage({ file: join(t.testdir({}), 'app.db') })
  t.teardown(() => storage.close())
  const before = currentTime()
  setClock(t, -HOUR)
  t.ok(currentTime() >= before)
  t.ok(currentTime() < before + 60_000)
})
