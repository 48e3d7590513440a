import { setTimeout as pause } from 'node:timers/promises'
import { type DatabaseError, run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { startPostgres } from './start-postgres.ts'

const WRITERS = 8

t.test('what was acknowledged is there after the server was killed, whenever it strikes', async (t) => {
  const server = await startPostgres({ durable: true })
  t.teardown(() => server.stop())
  const storage = await openStorage({ url: server.url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await storage.transaction(() => run(sql`CREATE TABLE written (id BIGINT PRIMARY KEY)`))

  const acknowledged: number[] = []
  const failures = new Set<string>()
  let next = 1
  let writing = true
  const writers = Array.from({ length: WRITERS }, async () => {
    while (writing) {
      const id = next++
      try {
        await storage.transaction(() => run(sql`INSERT INTO written VALUES (${id})`))
        acknowledged.push(id)
      } catch (error) {
        failures.add((error as DatabaseError).kind)
        // Others have their turn.
        await pause(1)
      }
    }
  })
  const moreThan = async (count: number) => {
    while (acknowledged.length <= count) await pause(5)
  }
  for (const killAfter of [10, 1, 100]) {
    await moreThan(acknowledged.length + killAfter)
    server.kill()
    while (storage.trouble === undefined) await pause(5)
    await server.restart()
    const back = performance.now()
    await moreThan(acknowledged.length)
    t.ok(performance.now() - back < 5_000, 'it is written again within 5 s')
  }
  writing = false
  await Promise.all(writers)
  const there = new Set((await storage.many<{ id: number }>(sql`SELECT id FROM written`)).map(({ id }) => id))
  t.strictSame(
    acknowledged.filter((id) => !there.has(id)),
    [],
  )
  t.strictSame(
    [...failures].filter((kind) => !['unavailable', 'unknown-outcome', 'busy'].includes(kind)),
    [],
  )
  t.ok(failures.has('unavailable'))
})
