import { run, sql } from '@mortise/module-sdk'
import { test } from 'tap'
import { SharedCounts } from '../../../src/http/limits/shared-counts.ts'
import { RateLimits, WINDOW } from '../../../src/http/limits/window-counter.ts'
import { migrateHost } from '../../../src/modules/migrate-host.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { testOnPostgres } from '../../engines.ts'

const log = createLogger({ level: 'silent', requests: false, slowMs: 1000 })
const MAX = 100

/** All limits are this one. */
const limited = (max: number) => ({
  max,
  maxPerAddress: max,
  maxNewGuests: max,
  maxBytes: max,
  maxBytesPerAddress: max,
})

const MINUTE = Math.trunc(Date.now() / WINDOW)

/** Whose minute does not end in the middle of a test. */
class StoppedLimits extends RateLimits {
  override now() {
    return MINUTE * WINDOW
  }
}

testOnPostgres('hosts hold a caller to one limit, but for what they have not heard yet', async (t, open) => {
  const storage = await open()
  await migrateHost(storage)
  const hosts = Array.from({ length: 3 }, () => {
    const limits = new StoppedLimits({ ...limited(1), max: MAX })
    const shared = new SharedCounts(storage, limits, log)
    t.teardown(() => shared.stop())
    const take = (count: number) =>
      Array.from({ length: count }, () => limits.take('caller', 'alice')).filter(({ isSpent }) => !isSpent)
        .length
    return { limits, shared, take }
  })
  const [one, two, three] = hosts as [(typeof hosts)[0], (typeof hosts)[0], (typeof hosts)[0]]
  const allowed = one.take(60)
  await one.shared.share()
  t.equal(two.take(9), 9)
  await two.shared.share()
  t.equal(two.limits.take('caller', 'alice').remaining, MAX - 10, 'a tenth is not synced, and nothing heard')
  await two.shared.share()
  t.equal(two.take(MAX), MAX - allowed - 10, 'now it has heard')
  await two.shared.share()
  await one.shared.share()
  t.equal(one.take(MAX), 0)
  t.equal(three.take(2 * MAX), MAX, 'who has heard nothing allows the limit once more, and no more than that')
  await three.shared.share()
  t.equal(three.take(1), 0)

  const rows = await storage.many<{ id: string; count: number }>(sql`SELECT id, count FROM mortise_rate`)
  t.equal(rows.length, 1)
  t.equal(rows[0]?.count, 2 * MAX)
  t.notMatch(rows[0]?.id, /alice/)
})

testOnPostgres('hosts share the bytes of bodies, too', async (t, open) => {
  const storage = await open()
  await migrateHost(storage)
  const limits = Array.from(
    { length: 2 },
    () => new StoppedLimits({ ...limited(1), maxBytesPerAddress: 10_000 }),
  )
  const [one, two] = limits as [RateLimits, RateLimits]
  const shares = limits.map((each) => new SharedCounts(storage, each, log))
  t.teardown(() => Promise.all(shares.map((share) => share.stop())))
  t.equal(one.take('address-bytes', 'a', 6_000).isSpent, false)
  t.equal(two.take('address-bytes', 'a', 1_000).isSpent, false)
  for (const share of shares) await share.share()
  t.match(two.take('address-bytes', 'a', 4_000), { isSpent: true, remaining: 3_000 })
  t.match(two.take('address-bytes', 'a', 3_000), { isSpent: false, remaining: 0 })
})

testOnPostgres('nothing is written while nobody uses a tenth of a limit', async (t, open) => {
  const storage = await open()
  await migrateHost(storage)
  const limits = new StoppedLimits(limited(MAX))
  const shared = new SharedCounts(storage, limits, log)
  t.teardown(() => shared.stop())
  for (let index = 0; index < 9; index += 1) limits.take('caller', 'alice')
  await shared.share()
  t.same(await storage.many(sql`SELECT id FROM mortise_rate`), [])
})

testOnPostgres(
  'counts of minutes that are not now are deleted, whichever clock was wrong',
  async (t, open) => {
    const storage = await open()
    await migrateHost(storage)
    await storage.transaction(() =>
      run(
        sql`INSERT INTO mortise_rate VALUES ('ahead', ${MINUTE + 120}, 100), ('past', ${MINUTE - 120}, 100), ('now', ${MINUTE}, 1)`,
      ),
    )
    const limits = new StoppedLimits(limited(MAX))
    const shared = new SharedCounts(storage, limits, log)
    t.teardown(() => shared.stop())
    for (let index = 0; index < 10; index += 1) limits.take('caller', 'alice')
    await shared.share()
    const rows = await storage.many<{ id: string }>(sql`SELECT id FROM mortise_rate WHERE count <> 10`)
    t.same(rows, [{ id: 'now' }])
  },
)

test('the clock of the machine may jump: a minute of a rate limit takes a minute', async (t) => {
  const limits = new RateLimits(limited(2))
  const before = limits.now()
  const real = Date.now
  t.teardown(() => {
    Date.now = real
  })
  for (const jump of [2, -2]) {
    Date.now = () => real() + jump * 60 * WINDOW
    t.ok(limits.now() - before < WINDOW)
  }
  limits.follow(before + WINDOW)
  t.ok(limits.now() >= before + WINDOW, 'it goes by the clock of the database')
})
