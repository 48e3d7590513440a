import { deepStrictEqual } from 'node:assert/strict'
import { type DatabaseError, many, run, sql, type Transaction } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import { type Connection, driveOn } from '../../src/sqlite/connection.ts'
import { GroupCommit } from '../../src/sqlite/group-commit.ts'
import { insertItem, MemoryConnection, SCHEMA } from '../temporary-storage.ts'

/**
 * Few ids and names, so that members collide. A missing parent is one that nobody ever inserts: a deferred
 * key that a later neighbour repairs is the one known difference (see GroupCommit).
 */
const MISSING = 99
const id = fc.integer({ min: 1, max: 4 })
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('insert' as const),
      id,
      quantity: fc.integer({ min: 0, max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('returning' as const), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('update' as const), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), id }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('child' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('late' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('end' as const), id }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('throw' as const), id }) },
)
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never
const plan = fc.record({ catches: fc.boolean(), actions: fc.array(action, { maxLength: 6 }) })
type Plan = typeof plan extends fc.Arbitrary<infer Value> ? Value : never

const END = `CREATE TABLE ender (id INTEGER);
  CREATE TRIGGER ends BEFORE INSERT ON ender BEGIN SELECT RAISE(ROLLBACK, 'ended'); END;`

function* perform(action: Action): Transaction<unknown> {
  switch (action.type) {
    case 'insert':
      return yield* run(insertItem(action.id, `name ${action.id % 3}`, action.quantity))
    case 'returning':
      return yield* many(sql`
        INSERT INTO item VALUES (${action.id}, ${`item ${action.id}`}, 1), (${action.id + 4}, ${`item ${action.id + 4}`}, 1)
        ON CONFLICT (id) DO UPDATE SET quantity = quantity + 1 RETURNING id, quantity`)
    case 'update':
      return yield* run(sql`UPDATE item SET quantity = quantity - 1 WHERE id <= ${action.id}`)
    case 'delete':
      return yield* many(sql`DELETE FROM item WHERE id = ${action.id} RETURNING name`)
    case 'child':
      return yield* run(sql`INSERT INTO child (item) VALUES (${action.id})`)
    case 'late':
      return yield* run(sql`INSERT INTO late (item) VALUES (${MISSING})`)
    case 'end':
      return yield* run(sql`INSERT INTO ender VALUES (1)`)
    case 'throw':
      throw new Error(`thrown ${action.id}`)
  }
}

const transactionOf = ({ catches, actions }: Plan) =>
  function* (): Transaction<unknown[]> {
    const results: unknown[] = []
    for (const action of actions) {
      try {
        results.push(yield* perform(action))
      } catch (error) {
        if (!catches) throw error
        results.push((error as Error).message)
      }
    }
    results.push(yield* many(sql`SELECT * FROM item ORDER BY id`))
    return results
  }

function settled(reason: unknown): unknown {
  const { name, kind, message } = reason as DatabaseError
  return [name, kind, message]
}

async function together(connection: Connection, plans: readonly Plan[]): Promise<unknown[]> {
  const onBroken = (error: Error) => {
    throw error
  }
  const commit = new GroupCommit(connection, { hold() {}, release() {} }, { onBroken, rehearse: false })
  const outcomes = await Promise.allSettled(plans.map((plan) => commit.transaction(transactionOf(plan))))
  return outcomes.map((one) => (one.status === 'fulfilled' ? one.value : settled(one.reason)))
}

/** The model: BEGIN, the steps, COMMIT or ROLLBACK. */
async function oneByOne(connection: Connection, plans: readonly Plan[]): Promise<unknown[]> {
  return plans.map((plan) => {
    connection.begin()
    try {
      const result = driveOn(connection, transactionOf(plan))
      const failure = connection.commit()
      if (failure !== undefined) throw failure
      return result
    } catch (error) {
      if (connection.inTransaction) connection.rollback()
      return settled(error)
    }
  })
}

async function execute(plans: readonly Plan[], how: typeof together) {
  const database = new SqliteDatabase(':memory:')
  try {
    database.exec(SCHEMA + END)
    const outcomes = await how(new MemoryConnection(database), plans)
    const rows = ['item', 'child', 'late', 'ender'].map((table) =>
      database.prepare(`SELECT * FROM ${table}`).all(),
    )
    return { outcomes, rows, open: database.inTransaction }
  } finally {
    database.close()
  }
}

t.test('a group of any transactions equals running them one by one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 2, maxLength: 12 }), async (plans) => {
      deepStrictEqual(await execute(plans, together), await execute(plans, oneByOne))
    }),
    { numRuns: fc.readConfigureGlobal().numRuns ?? 100 },
  )
})
