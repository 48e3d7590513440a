import { hash } from 'node:crypto'
import { join } from 'node:path'
import { join as joined, many, one, run, send, sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../src/open-storage.ts'
import { fillSchema } from '../src/postgres/fill-schema.ts'
import { extractModule } from '../src/sqlite/extract-module.ts'
import { temporarySchema, testOnEngines } from './engines.ts'
import { temporaryMigrations } from './temporary-migrations.ts'

/** Every byte, none, and one that a JSON or a text would break. */
const values = [
  Uint8Array.from({ length: 256 }, (_, value) => value),
  new Uint8Array(0),
  Buffer.from([0xff, 0x00, 0x5c, 0x78]),
]
const long = Buffer.alloc(
  1.5 * 1024 * 1024,
  Uint8Array.from({ length: 251 }, (_, value) => value),
)

const PICTURE = {
  '001-picture.sql': 'CREATE TABLE picture (id BIGINT PRIMARY KEY, name TEXT NOT NULL, bytes BYTEA)',
  '001-picture.down.sql': 'DROP TABLE picture',
}
const insert = (id: number, bytes: Uint8Array | null) =>
  sql`INSERT INTO picture (id, name, bytes) VALUES (${id}, ${`picture ${id}`}, ${bytes})`
const pictures = sql`SELECT id, bytes FROM picture ORDER BY id`
/** A view of a longer buffer, as a parser gives it. */
const within = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from('--'), bytes, Buffer.from('--')]).subarray(2, 2 + bytes.length)

interface Row {
  readonly bytes: Uint8Array | null
}

/** Rows to compare: with the type, the length and the hash of their bytes. */
const reported = (rows: readonly Row[]) =>
  rows.map(({ bytes, ...row }) => ({
    ...row,
    bytes: bytes && `${bytes.constructor.name} ${bytes.length} ${hash('sha256', bytes)}`,
  }))

testOnEngines('bytes come out as they went in, as a Buffer', async (t, open, engine) => {
  const { storage, write } = await temporaryMigrations(t, open, engine)
  await storage.migrate([write('picture', PICTURE)])
  await storage.transaction(function* () {
    for (const [id, bytes] of values.entries()) yield* run(insert(id, within(bytes)))
    yield* send(insert(3, long))
    yield* run(insert(4, null))
  })
  const expected = [...values, long].map((bytes, id) => ({ id, bytes: Buffer.from(bytes) }))
  const all = reported([...expected, { bytes: null, ...{ id: 4 } }])
  t.strictSame(reported(await storage.many(pictures)), all)
  t.strictSame(reported(await storage.snapshot(() => many(pictures))), all)
  t.strictSame(reported(await storage.transaction(() => many(pictures))), all)
  for (const { id, bytes } of expected) {
    t.strictSame(await storage.maybeOne(sql`SELECT id FROM picture WHERE bytes = ${bytes}`), { id })
  }
  const list = sql`SELECT id FROM picture WHERE bytes IN (${joined(values.map((bytes) => sql`${bytes}`))}) ORDER BY id`
  t.strictSame(await storage.many(list), [{ id: 0 }, { id: 1 }, { id: 2 }])
  t.strictSame(await storage.one(sql`SELECT ${values[0] as Uint8Array} AS bytes`), {
    bytes: Buffer.from(values[0] as Uint8Array),
  })
  const returned = storage.transaction(() =>
    one<{ bytes: Buffer }>(sql`UPDATE picture SET bytes = ${long} WHERE id = 4 RETURNING bytes`),
  )
  t.ok(long.equals((await returned).bytes))
  await t.rejects(
    storage.transaction(() => run(insert(0, long))),
    { name: 'DatabaseError', kind: 'unique' },
  )
})

t.test('bytes of a read in a thread are a Buffer too', async (t) => {
  const { storage, write } = await temporaryMigrations(t)
  await storage.migrate([write('picture', PICTURE)])
  await storage.transaction(() =>
    run(sql`
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO picture SELECT i, 'picture', ${values[2] as Buffer} FROM n`),
  )
  const rows = await storage.many<{ bytes: Buffer }>(
    sql`SELECT bytes FROM picture WHERE bytes = ${values[2] as Buffer}`,
    { long: true },
  )
  t.equal(rows.length, 12_000)
  t.ok(rows.every(({ bytes }) => Buffer.isBuffer(bytes) && bytes.toString('hex') === 'ff005c78'))
})

t.test('a value has 16 MiB at most', (t) => {
  const most = 16 * 1024 * 1024
  t.doesNotThrow(() => sql`SELECT ${new Uint8Array(most)}`)
  t.throws(() => sql`SELECT ${new Uint8Array(most + 1)}`, { name: 'TypeError', message: /16777217 bytes/ })
  t.throws(() => sql`SELECT ${new ArrayBuffer(1) as never}`, { name: 'TypeError' })
  t.end()
})

testOnEngines('a purged module comes back from its archive with its bytes', async (t, open, engine) => {
  const { storage, write, directory } = await temporaryMigrations(t, open, engine)
  const sets = [write('picture', PICTURE)]
  await storage.migrate(sets)
  await storage.transaction(function* () {
    for (const [id, bytes] of values.entries()) yield* run(insert(id, bytes))
    for (const id of [10, 11]) yield* run(insert(id, long))
    yield* run(insert(30, null))
  })
  const before = reported(await storage.many(pictures))
  const [copy, archive] = [join(directory, 'copy.db'), join(directory, 'archive.db')]
  await storage.copyTo(copy)
  extractModule(copy, 'picture', archive)
  await storage.purge('picture')
  await storage.restoreModule(archive, sets)
  t.strictSame(reported(await storage.many(pictures)), before)
  t.equal(before.length, 6)
})

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('bytes move to PostgreSQL, also more than fit into one batch', { skip }, async (t) => {
  const { storage, write, directory } = await temporaryMigrations(t)
  const keyless = {
    '001-sheet.sql': 'CREATE TABLE sheet (name TEXT NOT NULL, bytes BYTEA NOT NULL)',
    '001-sheet.down.sql': 'DROP TABLE sheet',
  }
  const sets = [write('picture', PICTURE), write('sheet', keyless)]
  await storage.migrate(sets)
  await storage.transaction(function* () {
    for (const [id, bytes] of values.entries()) {
      yield* run(insert(id, bytes))
      yield* run(sql`INSERT INTO sheet VALUES (${`sheet ${id}`}, ${bytes})`)
    }
    for (let id = 10; id < 22; id++) {
      yield* run(insert(id, Buffer.concat([long, Buffer.from([id])])))
      yield* run(sql`INSERT INTO sheet VALUES (${`sheet ${id}`}, ${long})`)
    }
  })
  const { url } = await temporarySchema(t)
  const file = join(directory, 'app.db')
  t.match(await fillSchema({ file, url, sets, owner: 'pictures', kept: [], async begin() {}, onRows() {} }), [
    { table: 'picture', rows: 15 },
    { table: 'sheet', rows: 15 },
  ])
  const moved = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => moved.close())
  t.strictSame(reported(await moved.many(pictures)), reported(await storage.many(pictures)))
  const sheets = sql`SELECT name, bytes FROM sheet ORDER BY name`
  t.strictSame(reported(await moved.many(sheets)), reported(await storage.many(sheets)))
})
