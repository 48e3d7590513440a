import t from 'tap'
import { runOutbox } from '../../src/outbox/run-outbox.ts'

// A slice of `npm run outbox`, of another seed each time: a failure names it.
for (const [engine, database] of [
  ['SQLite', undefined],
  ['PostgreSQL', process.env.APP_TEST_DATABASE_URL],
] as const) {
  const skip =
    engine === 'PostgreSQL' && database === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL'
  t.test(`events are what was committed, and heard once (${engine})`, { skip }, async (t) => {
    const seed = Date.now() % 1_000_000
    const report = await runOutbox({ transactions: 300, seed, database, killWithin: 150 })
    t.same(report.failures, [], `with seed ${seed}`)
    t.ok(report.kills > 0, 'hosts were killed')
    t.ok(report.failed > 0, 'transactions failed')
    t.ok(report.events >= report.acknowledged, 'what was acknowledged was told')
  })
}
