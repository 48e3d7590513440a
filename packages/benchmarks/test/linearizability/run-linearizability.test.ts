import t from 'tap'
import { findBugs } from '../../src/linearizability/find-bugs.ts'
import { runLinearizability } from '../../src/linearizability/run-linearizability.ts'

// A slice of `npm run linearizability`, of another seed each time: a failure names it.
const seed = Date.now() % 1_000_000
const database = process.env.APP_TEST_DATABASE_URL

t.test('what 16 clients do to one cart is linearizable (SQLite)', async (t) => {
  const report = await runLinearizability({ rounds: 2, seed, killEvery: 2 })
  t.equal(report.failure, undefined, `with seed ${seed}`)
  t.match(report, { rounds: 2, kills: 2 })
  t.ok(report.operations > 250 && report.claims > 0, JSON.stringify(report))
})

const skip = database === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL'
t.test('what 16 clients do to one cart is linearizable (PostgreSQL)', { skip }, async (t) => {
  const report = await runLinearizability({ rounds: 1, seed, database })
  t.equal(report.failure, undefined, `with seed ${seed}`)
})

t.test('what is not is found', async (t) => {
  const only = ['a claim loses what the guest adds meanwhile', 'a cart is remembered for 20 ms']
  t.same(await findBugs({ seed, only }), { planted: only, missed: [] })
})
