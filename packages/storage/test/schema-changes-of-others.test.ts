import { setImmediate as turn } from 'node:timers/promises'
import { type Engine, many, one, run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../src/open-storage.ts'
import type { Storage } from '../src/port/storage.ts'
import { temporarySchema, testOnPostgres } from './engines.ts'
import { temporaryStorage } from './temporary-storage.ts'

const NAME = 'statements see what others have changed in the schema'

const SCHEMA = 'CREATE TABLE cart (id INTEGER PRIMARY KEY, size INTEGER NOT NULL DEFAULT 0, more TEXT)'

/** What another program does beside the host, and the columns of the table after it. */
const changes: [string | Record<Engine, string>, string[]][] = [
  ['ALTER TABLE cart ADD COLUMN extra TEXT', ['id', 'size', 'more', 'extra']],
  ['ALTER TABLE cart DROP COLUMN more', ['id', 'size', 'extra']],
  ['ALTER TABLE cart RENAME TO cart_old; ALTER TABLE cart_old RENAME TO cart', ['id', 'size', 'extra']],
  ['CREATE INDEX cart_size ON cart (size)', ['id', 'size', 'extra']],
  ['DROP INDEX cart_size', ['id', 'size', 'extra']],
  [
    {
      sqlite: 'ALTER TABLE cart ADD COLUMN late TEXT',
      postgres: 'ALTER TABLE cart ADD COLUMN late TEXT; ALTER TABLE cart ALTER COLUMN size TYPE BIGINT',
    },
    ['id', 'size', 'extra', 'late'],
  ],
  ['DROP TABLE cart; CREATE TABLE cart (size BIGINT NOT NULL, id BIGINT)', ['size', 'id']],
]

async function tryAll(t: Test, storage: Storage, change: (text: string) => unknown, engine: Engine) {
  let id = 0
  const newest = sql`SELECT * FROM cart ORDER BY id DESC LIMIT 1`
  const uses: Record<string, () => Promise<unknown>> = {
    transaction: () =>
      storage.transaction(function* () {
        id += 1
        yield* run(sql`INSERT INTO cart (id, size) VALUES (${id}, ${7})`)
        const [row] = yield* many(sql`UPDATE cart SET size = ${8} WHERE id = ${id} RETURNING *`)
        yield* one(sql`SELECT size, id FROM cart WHERE id = ${id}`)
        return row
      }),
    read: () => storage.one(newest),
    snapshot: () => storage.snapshot(() => one(newest)),
    'long read': async () => (await storage.many(newest, { long: true }))[0],
  }
  for (const use of Object.values(uses)) await use()
  for (const [text, columns] of changes) {
    const its = typeof text === 'string' ? text : text[engine]
    await change(its)
    for (const [name, use] of Object.entries(uses)) {
      for (let time = 0; time < 3; time += 1) {
        const row = await use().catch(({ message }: Error) => ({ message }))
        const expected = Object.fromEntries(
          columns.map((column) => [column, { id, size: 8 }[column] ?? null]),
        )
        t.strictSame(row, expected, `${name} after ${its}`)
      }
    }
  }
}

t.test(`${NAME} (sqlite)`, async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const change = (text: string) => {
    const database = new SqliteDatabase(storage.file)
    database.exec(text)
    database.close()
  }
  await tryAll(t, storage, change, 'sqlite')
  const query = sql`SELECT * FROM cart WHERE id = ${1}`
  await storage.transaction(() => run(sql`INSERT INTO cart (id, size) VALUES (${1}, ${2})`))
  t.strictSame(await storage.many(query), [{ size: 2, id: 1 }])
  change('DROP TABLE cart; CREATE TABLE cart (id BIGINT, size BIGINT); INSERT INTO cart VALUES (1, 2)')
  while (Object.keys(await storage.one<object>(query))[0] !== 'id') await turn()
  t.strictSame(await storage.many(query), [{ id: 1, size: 2 }], 'as many columns as before')
})

testOnPostgres(`${NAME} (postgres)`, async (t) => {
  const { url, execute } = await temporarySchema(t)
  const storage = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => storage.close())
  await execute(SCHEMA)
  await tryAll(t, storage, execute, 'postgres')
})
