import t from 'tap'
import { runTwins } from '../../src/twins/run-twins.ts'

// A slice of `npm run twins`, of another seed each time: a failure names it.
for (const [engine, database] of [
  ['SQLite', undefined],
  ['PostgreSQL', process.env.APP_TEST_DATABASE_URL],
] as const) {
  const skip =
    engine === 'PostgreSQL' && database === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL'
  t.test(`each request is done once, and answered the same (${engine})`, { skip }, async (t) => {
    const seed = Date.now() % 1_000_000
    const { failures, kills, cuts } = await runTwins({ keys: 100, seed, database, killWithin: 150 })
    t.same(failures, [], `with seed ${seed}`)
    t.ok(kills > 0, 'hosts were killed')
    t.ok(cuts['before the answer'], 'clients were cut off')
    if (database !== undefined) t.ok(cuts['COMMIT, once it was sent on'], 'and COMMITs')
  })
}
