import { keptTables } from '@mortise/application'
import { currentTime, run, sql } from '@mortise/module-sdk'
import { postgresData, type Storage } from '@mortise/storage'
import t from 'tap'
import { temporarySchema } from '../../../packages/storage/test/engines.ts'
import { temporaryMigrations } from '../../../packages/storage/test/temporary-migrations.ts'
import { append, readTrail } from '../../src/events/audit-trail.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { testOnEngines } from '../engines.ts'

const entry = (object: string) => ({ action: 'thing.done', object })

const put = (storage: Storage, object: string) =>
  storage.transaction(() => append(entry(object), 'user:ann', 'request'))

const objects = async (storage: Storage, limit = 10) =>
  (await storage.snapshot(() => readTrail({ limit }))).map(({ object }) => object)

testOnEngines('audit records are complete, newest first, and paged', async (t, open) => {
  const storage = await open()
  await storage.migrate([hostMigrations])
  const before = currentTime()
  await storage.transaction(() =>
    append({ ...entry('a'), details: { of: ['any', 1, null] } }, 'user:ann', 'request'),
  )
  await put(storage, 'b')
  await put(storage, 'c')
  const [newest, , oldest] = await storage.snapshot(() => readTrail({ limit: 10 }))
  t.match(oldest, {
    actor: 'user:ann',
    action: 'thing.done',
    object: 'a',
    outcome: 'done',
    requestId: 'request',
    details: { of: ['any', 1, null] },
  })
  t.ok(Date.parse(oldest?.at as string) >= before)
  t.same(newest?.details, null)
  t.same(await objects(storage, 2), ['c', 'b'])
  const older = await storage.snapshot(() => readTrail({ limit: 10, before: newest?.seq as number }))
  t.same(
    older.map(({ object }) => object),
    ['b', 'a'],
  )
})

testOnEngines('the records of an object are paged, too, and found by an index', async (t, open, engine) => {
  const storage = await open()
  await storage.migrate([hostMigrations])
  for (const object of ['a', 'b', 'a', 'a']) await put(storage, object)
  const read = (before?: number) =>
    storage.snapshot(() => readTrail({ limit: 2, object: 'a', ...(before && { before }) }))
  const newest = await read()
  t.same(
    newest.map(({ object, seq }) => [object, seq]),
    [
      ['a', 4],
      ['a', 3],
    ],
  )
  t.same(
    (await read(3)).map(({ seq }) => seq),
    [1],
  )
  t.same(await storage.snapshot(() => readTrail({ limit: 2, object: '' })), [])
  if (engine === 'sqlite') {
    const [{ detail = '' } = {}] = await storage.many<{ detail: string }>(
      sql`EXPLAIN QUERY PLAN SELECT seq FROM mortise_audit WHERE object = 'a' AND seq < 9 ORDER BY object DESC, seq DESC`,
    )
    t.match(detail, /USING COVERING INDEX mortise_audit_by_object \(object=\? AND seq<\?\)/)
  }
})

testOnEngines('an undone transaction leaves no audit record', async (t, open) => {
  const storage = await open()
  await storage.migrate([hostMigrations])
  await t.rejects(
    storage.transaction(function* () {
      yield* append(entry('a'), 'user:ann', null)
      throw new Error('on purpose')
    }),
  )
  t.same(await objects(storage), [])
})

testOnEngines('a module cannot change or delete an audit record', async (t, open, engine) => {
  const storage = await open()
  await storage.migrate([hostMigrations])
  await put(storage, 'a')
  const values = sql`(SELECT seq FROM mortise_audit), 0, 'x', 'x', 'x', 'x'`
  const into = sql`INTO mortise_audit (seq, at, actor, action, object, outcome)`
  const tries = [
    sql`UPDATE mortise_audit SET actor = 'user:ben'`,
    sql`DELETE FROM mortise_audit`,
    ...(engine === 'sqlite'
      ? [
          sql`INSERT OR REPLACE ${into} VALUES (${values})`,
          sql`UPDATE OR REPLACE mortise_audit SET actor = 'user:ben'`,
          sql`INSERT ${into} VALUES (${values}) ON CONFLICT DO UPDATE SET actor = 'x'`,
        ]
      : [
          sql`TRUNCATE mortise_audit`,
          sql`INSERT ${into} OVERRIDING SYSTEM VALUE VALUES (${values}) ON CONFLICT (seq) DO UPDATE SET actor = 'x'`,
        ]),
  ]
  for (const attempt of tries) {
    await t.rejects(
      storage.transaction(() => run(attempt)),
      { message: /append-only/ },
      attempt.strings.join('…'),
    )
  }
  t.match(await storage.snapshot(() => readTrail({ limit: 10 })), [{ actor: 'user:ann', object: 'a' }])
})

testOnEngines('a copy of the database keeps the audit records append-only', async (t, open) => {
  const directory = t.testdir()
  const storage = await open('', { file: `${directory}/app.db` })
  await storage.migrate([hostMigrations])
  await put(storage, 'a')
  const file = `${directory}/copy.db`
  await storage.copyTo(file)
  const copy = await openStorage({ file, onFatal: t.fail })
  t.teardown(() => copy.close())
  t.same(await objects(copy), ['a'])
  await t.rejects(
    copy.transaction(() => run(sql`DELETE FROM mortise_audit`)),
    { message: /append-only/ },
  )
  await put(copy, 'b')
  t.same(await objects(copy), ['b', 'a'])
})

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('records move to PostgreSQL, which counts on and refuses the same', { skip }, async (t) => {
  const { storage, directory } = await temporaryMigrations(t)
  await storage.migrate([hostMigrations])
  for (const object of ['a', 'b']) await put(storage, object)
  const { url } = await temporarySchema(t)
  const { fillSchema } = await postgresData()
  await fillSchema({
    ...{ file: `${directory}/app.db`, url, sets: [hostMigrations], owner: 'shop', kept: keptTables },
    async begin() {},
    onRows() {},
  })
  const moved = await openStorage({ url, onFatal: t.fail })
  t.teardown(() => moved.close())
  await put(moved, 'c')
  const records = await moved.snapshot(() => readTrail({ limit: 10 }))
  t.same(records.slice(1), await storage.snapshot(() => readTrail({ limit: 10 })))
  t.match(records[0], { object: 'c', seq: 3 })
  await t.rejects(
    moved.transaction(() => run(sql`DELETE FROM mortise_audit`)),
    { message: /append-only/ },
  )
})
