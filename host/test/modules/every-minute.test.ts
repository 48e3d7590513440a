import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { many, run, sql, type Transaction } from '@mortise/module-sdk'
import fastify from 'fastify'
import type { Test } from 'tap'
import { everyMinute } from '../../src/modules/every-minute.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { type Open, testOnEngines } from '../engines.ts'

const MINUTE = 60_000

/** Hosts on one database whose minutes go by when `tick` is called. */
async function hosts(t: Test, open: Open, count: number, work: (host: string) => Transaction<boolean>) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const storage = await open()
  await storage.migrate([hostMigrations])
  await storage.transaction(() => run(sql`CREATE TABLE done (host TEXT NOT NULL)`))
  let transactions = 0
  const { transaction } = storage
  storage.transaction = (steps) =>
    transaction.call(storage, steps).finally(() => {
      transactions += 1
    }) as never
  const made = Array.from({ length: count }, (_, index) => {
    const app = fastify()
    const failures: string[] = []
    const reported: string[] = []
    app.log.info = (text: string) => reported.push(text)
    app.log.error = (error: Error) => failures.push(error.message)
    everyMinute(app, storage, 'work', () => work(`host ${index}`))
    t.teardown(() => app.close())
    return { failures, reported, close: () => app.close() }
  })
  return {
    made,
    storage,
    /** Resolves when so many transactions have ended. */
    asked: (count: number) => until(() => transactions >= count),
    tick: () => mock.timers.tick(MINUTE),
    done: async () =>
      (await storage.many<{ host: string }>(sql`SELECT host FROM done`)).map(({ host }) => host),
  }
}

function* note(host: string): Transaction<boolean> {
  yield* run(sql`INSERT INTO done (host) VALUES (${host})`)
  return false
}

const leaseOfAnother = () =>
  run(
    sql`INSERT INTO mortise_lease (name, holder, expires_at) VALUES ('work', 'another', ${Date.now() + MINUTE})`,
  )

/** Resolves when a condition holds that is brought about meanwhile. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setImmediate()
}

testOnEngines('one of several hosts works, and another one takes over when it closes', async (t, open) => {
  const { made, storage, asked, tick, done } = await hosts(t, open, 3, note)
  t.same(await done(), [], 'nothing before its time')
  tick()
  await asked(3)
  const [first, ...others] = await done()
  t.same(others, [])
  tick()
  await asked(6)
  t.same(await done(), [first, first], 'who has the lease keeps it')
  await made[Number(first?.slice(-1))]?.close()
  tick()
  await asked(9)
  for (const { close } of made) await close()
  const [, , third, ...more] = await done()
  t.match(third, /^host/)
  t.not(third, first)
  t.same(more, [])
  t.same(
    await storage.many(sql`SELECT name FROM mortise_lease WHERE expires_at > ${Date.now()}`),
    [],
    'nobody has it any more',
  )
  t.same(
    made.flatMap(({ failures }) => failures),
    [],
  )
})

testOnEngines('the lease of a crashed host is taken over after its term', async (t, open) => {
  const { storage, asked, tick, done } = await hosts(t, open, 1, note)
  await storage.transaction(() => leaseOfAnother())
  tick()
  await asked(2)
  t.same(await done(), [])
  await storage.transaction(() => run(sql`UPDATE mortise_lease SET expires_at = expires_at - ${MINUTE}`))
  tick()
  await asked(4)
  t.same(await done(), ['host 0'])
})

testOnEngines('a lease from a clock that was ahead has expired', async (t, open) => {
  const { storage, asked, tick, done } = await hosts(t, open, 1, note)
  await storage.transaction(() => leaseOfAnother())
  await storage.transaction(() =>
    run(sql`UPDATE mortise_lease SET expires_at = expires_at + ${120 * MINUTE}`),
  )
  tick()
  await asked(3)
  t.same(await done(), ['host 0'])
})

testOnEngines('periodic work waits after a long gap, because the clock may be ahead', async (t, open) => {
  const { made, storage, asked, tick, done } = await hosts(t, open, 1, note)
  await storage.transaction(() => leaseOfAnother())
  const shift = (minutes: number) =>
    storage.transaction(() =>
      run(sql`UPDATE mortise_lease SET expires_at = expires_at + ${minutes * MINUTE}`),
    )
  await shift(-130)
  tick()
  await asked(3)
  tick()
  await asked(4)
  t.same(await done(), [], 'by the clock it last ran over two hours ago')
  t.match(
    made[0]?.reported,
    [/"work" last ran 2 h ago by the clock, so it waits for 15 minutes/],
    'reported once',
  )
  await shift(128)
  tick()
  await asked(6)
  t.same(await done(), ['host 0'], 'the clock was put right')
  await shift(-130)
  tick()
  await asked(8)
  const { now } = performance
  const passed = mock.method(performance, 'now', () => now.call(performance) + 15 * MINUTE)
  t.teardown(() => passed.mock.restore())
  tick()
  await asked(9)
  t.same(await done(), ['host 0', 'host 0'], 'it is no jump, but time that has passed')
})

testOnEngines('leases use the clock of the database, not of a host', async (t, open) => {
  const { made, storage, tick, done } = await hosts(t, open, 1, note)
  await storage.transaction(() => leaseOfAnother())
  const real = Date.now
  Date.now = () => real() + 60 * MINUTE
  t.teardown(() => {
    Date.now = real
  })
  tick()
  await made[0]?.close()
  t.same(await done(), [])
})

testOnEngines('periodic work continues while there is more, and ends with its host', async (t, open) => {
  const { made, tick, done } = await hosts(t, open, 1, function* (host) {
    yield* note(host)
    return (yield* many(sql`SELECT host FROM done`)).length !== 7
  })
  tick()
  await until(async () => (await done()).length === 7)
  tick()
  await until(async () => (await done()).length > 8)
  await made[0]?.close()
  const { length } = await done()
  tick()
  t.equal((await done()).length, length)
})

testOnEngines('a failed run is logged, and the next run does its work', async (t, open) => {
  const { made, storage, tick, done } = await hosts(t, open, 1, note)
  await storage.transaction(() => run(sql`ALTER TABLE done RENAME TO away`))
  tick()
  await until(async () => made[0]?.failures.length === 1)
  t.match(made[0]?.failures, [/done/])
  await storage.transaction(() => run(sql`ALTER TABLE away RENAME TO done`))
  tick()
  await until(async () => (await done()).length === 1)
})
