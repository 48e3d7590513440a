import t from 'tap'
import { sql } from '../src/sql.ts'
import { DatabaseError, firstOf, many, maybeOne, one, run, type Transaction } from '../src/transaction.ts'

/** Responds to each step with the next of `results`, as an engine would. */
function drive<Result>(transaction: Transaction<Result>, ...results: unknown[]): Result {
  let step = transaction.next()
  while (!step.done) step = transaction.next(results.shift())
  return step.value
}

t.test('steps name their result and return it', async (t) => {
  const rows = [{ id: 1 }, { id: 2 }]
  t.same(drive(many(sql`SELECT`), rows), rows)
  t.same(drive(maybeOne(sql`SELECT`), rows), { id: 1 })
  t.equal(drive(maybeOne(sql`SELECT`), []), undefined)
  t.same(drive(one(sql`SELECT`), rows), { id: 1 })
  t.throws(() => drive(one(sql`SELECT`), []), { name: 'DatabaseError', kind: 'no-row' })
  t.equal(drive(run(sql`DELETE`), 3), 3)
  t.match(many(sql`SELECT ${1}`).next().value, { want: 'rows', query: { values: [1] } })
  t.match(run(sql`DELETE`).next().value, { want: 'changes' })
})

t.test('the first of no rows is an error that says so', async (t) => {
  t.equal(firstOf([0]), 0)
  t.throws(() => firstOf([]), DatabaseError)
})
