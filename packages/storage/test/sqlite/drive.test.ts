import { many, one, run, sql, type Transaction } from '@mortise/module-sdk'
import t from 'tap'
import { driveOn } from '../../src/sqlite/connection.ts'
import { insertItem, memoryConnection, SCHEMA } from '../temporary-storage.ts'

t.test('each step gets its result, and the generator its result', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.begin()
  const result = driveOn(connection, function* () {
    const changed = yield* run(insertItem(1, 'a'))
    const { id } = yield* one<{ id: number }>(sql`SELECT id FROM item`)
    return [changed, id]
  })
  t.strictSame(result, [1, 1])
})

t.test('the error of a step is thrown into the generator, which may go on', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.begin()
  const kinds = driveOn(connection, function* () {
    const kinds: string[] = []
    for (const query of [
      insertItem(1, 'a'),
      insertItem(1, 'b'),
      sql`SELECT 1; SELECT 2`,
      sql`SELECT nothing`,
    ]) {
      try {
        yield* run(query)
        kinds.push('none')
      } catch (error) {
        kinds.push((error as { kind: string }).kind)
      }
    }
    return kinds
  })
  t.strictSame(kinds, ['none', 'unique', 'refused', 'other'])
  t.ok(connection.inTransaction)
})

t.test('an error of the generator is thrown after its finally blocks', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.begin()
  const error = new Error('mine')
  t.throws(
    () =>
      driveOn(connection, function* () {
        try {
          yield* run(sql`SELECT nothing`)
        } catch {
          throw error
        } finally {
          yield* run(insertItem(1, 'a'))
        }
      }),
    error,
  )
  t.equal(connection.all(sql`SELECT * FROM item`).length, 1)
})

t.test('an invalid value reaches the generator as an error', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.begin()
  for (const garbage of [
    undefined,
    null,
    1,
    'SELECT 1',
    {},
    { query: 'SELECT 1', want: 'rows' },
    Promise.resolve(),
  ]) {
    t.throws(
      () =>
        driveOn(connection, function* (): Transaction<void> {
          yield garbage as never
        }),
      { name: 'TypeError', message: /sql`…`/ },
    )
  }
})

t.test('a function that is not a generator is refused', async (t) => {
  const connection = memoryConnection(t, SCHEMA)
  connection.begin()
  for (const steps of [() => undefined, () => [], async () => {}, async function* () {}]) {
    t.throws(() => driveOn(connection, steps as never), { name: 'TypeError', message: /takes a generator/ })
  }
})

t.test('a generator whose transaction has ended is not resumed', async (t) => {
  const connection = memoryConnection(
    t,
    `${SCHEMA} CREATE TRIGGER ends BEFORE INSERT ON child BEGIN SELECT RAISE(ROLLBACK, 'gone'); END;`,
  )
  connection.begin()
  t.throws(
    () =>
      driveOn(connection, function* () {
        yield* run(insertItem(1, 'a'))
        try {
          yield* run(sql`INSERT INTO child VALUES (1, 1)`)
        } catch {
          yield* run(insertItem(2, 'b'))
        }
      }),
    { message: /gone/ },
  )
  t.strictSame(connection.all(sql`SELECT * FROM item`), [])
  t.strictSame(
    driveOn(connection, () => many(sql`SELECT 1 AS a`)),
    [{ a: 1 }],
  )
})
