import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { toSqlite } from '../../src/archive/portable-file.ts'
import { openStorage } from '../../src/open-storage.ts'
import { replaceSchema, stageSchema } from '../../src/postgres/replace-schema.ts'
import { extractModule } from '../../src/sqlite/extract-module.ts'
import { findCorruption } from '../../src/sqlite/find-corruption.ts'
import { readFileContents } from '../../src/sqlite/read-file-contents.ts'
import { temporarySchema } from '../engines.ts'
import { temporaryMigrations } from '../temporary-migrations.ts'
import { contentOf, ROWS, shopSet } from './shop.ts'

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

/** A shop on PostgreSQL with rows; `open` opens it again. */
async function shop(t: Test) {
  const { url, schema, execute } = await temporarySchema(t)
  const open = async (place: { url: string } | { file: string } = { url }) => {
    const storage = await openStorage({ ...place, onFatal: t.fail })
    t.teardown(() => storage.close())
    return storage
  }
  const storage = await open()
  const migrations = await temporaryMigrations(t)
  const sets = shopSet(migrations.write)
  await storage.migrate(sets)
  await execute(ROWS)
  await execute(
    `UPDATE shop SET raw = '\\x00ff' WHERE id = 3; SELECT setval(pg_get_serial_sequence('shop', 'id'), 20)`,
  )
  return { ...migrations, storage, sets, url, schema, execute, open }
}

t.test(
  'a copy is a SQLite file with the rows of one moment, whole, and for its owner only',
  { skip },
  async (t) => {
    const { storage, directory, execute, open } = await shop(t)
    const file = join(directory, 'copy.db')
    const before = await contentOf(storage)
    let isOver = false
    const writing = (async () => {
      for (let at = 0; !isOver; at++) {
        await storage.transaction(function* () {
          yield* run(sql`INSERT INTO shop_log (what, at) VALUES ('pair', ${at})`)
          yield* run(sql`INSERT INTO shop_log (what, at) VALUES ('pair', ${-at})`)
        })
      }
    })()
    await storage.copyTo(file)
    isOver = true
    await writing
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(findCorruption(file), undefined)
    t.notOk(readdirSync(directory).some((name) => name.endsWith('.tmp')))
    const { rows, ledger } = readFileContents(file)
    t.equal(((rows.shop_log ?? 0) - 4) % 2, 0, 'both of a transaction, or none')
    t.match(rows, { shop: 4, shop_line: 6, shop_change: 0 })
    t.strictSame(
      ledger.map(({ name }) => name),
      ['001-shop', '002-own'],
    )
    toSqlite(file)
    const copy = await open({ file })
    await copy.transaction(() => run(sql`DELETE FROM shop_log WHERE what = 'pair'`))
    await execute(`DELETE FROM shop_log WHERE what = 'pair'`)
    t.strictSame(await contentOf(copy), before, 'it is a database that a host on SQLite can have')
    t.strictSame(await copy.pending([]), [])
    await t.rejects(
      copy.transaction(() => run(sql`INSERT INTO shop (id, name, small) VALUES (99, 'x', 7)`)),
      { name: 'DatabaseError', kind: 'check' },
    )
  },
)

t.test(
  'where a host serves, or SQLite has no place for a row, data are not replaced',
  { skip },
  async (t) => {
    const { storage, directory, execute, url } = await shop(t)
    const file = join(directory, 'copy.db')
    await execute(`INSERT INTO shop_change VALUES ('a', 1)`)
    await storage.copyTo(file)
    const message = /"shop_change", which SQLite does not have/
    t.throws(() => toSqlite(file), { name: 'MigrationError', message })
    await t.rejects(stageSchema(url, file, [], 4), { name: 'StorageBusyError', message: /a host at/ })
  },
)

t.test('all data are replaced, and the previous ones stay in another schema', { skip }, async (t) => {
  const { storage, directory, execute, url, schema, open } = await shop(t)
  const file = join(directory, 'copy.db')
  await execute(`INSERT INTO shop_change VALUES ('a', 1), ('a', 1)`)
  const before = await contentOf(storage)
  await storage.copyTo(file)
  await execute(
    `DELETE FROM shop_line; DELETE FROM shop; DELETE FROM shop_change; INSERT INTO shop (name) VALUES ('later')`,
  )
  await storage.close()

  const previous = `${schema}_before_generation_4`
  t.teardown(() =>
    execute(`DROP SCHEMA IF EXISTS ${previous} CASCADE; DROP SCHEMA IF EXISTS ${schema}_restored CASCADE`),
  )
  t.strictSame(await stageSchema(url, file, [], 4), { previous, hadData: true })
  t.equal((await execute('SELECT count(*)::int AS count FROM shop')).rows[0].count, 1, 'not yet')
  t.strictSame(await stageSchema(url, file, [], 4), { previous, hadData: true }, 'again, after a kill')
  await replaceSchema(url, previous)
  await replaceSchema(url, previous)
  const restored = await open()
  t.strictSame(await contentOf(restored), before)
  const { rows } = await execute(
    `SELECT (SELECT count(*)::int FROM shop_change) AS changes, (SELECT count(*)::int FROM ${previous}.shop) AS previous,
       nextval(pg_get_serial_sequence('shop', 'id'))::int AS next,
       (SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint WHERE connamespace = '${schema}'::regnamespace AND contype = 'f') AS keys,
       (SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass AND tgname = 'shop_logs') AS trigger`,
  )
  t.strictSame(rows[0], {
    changes: 2,
    previous: 1,
    next: 21,
    keys: 'shop_line_shop_fkey shop_parent_fkey',
    trigger: 'O',
  })
  const { statements } = await restored.schema()
  t.equal(statements.length, 2, 'modules are tried on it as before')
  await restored.undo([{ module: 'shop', name: '002-own' }])
})

t.test('a purged module comes back from its archive, rows, counters and ledger', { skip }, async (t) => {
  const { storage, directory, execute, sets, open } = await shop(t)
  await execute(`INSERT INTO shop_change VALUES ('a', 1)`)
  const before = await contentOf(storage)
  const schema = await storage.schema()
  const [copy, archive] = [join(directory, 'copy.db'), join(directory, 'archive.db')]
  await storage.copyTo(copy)
  t.match(extractModule(copy, 'shop', archive), { module: 'shop', tables: ['shop', 'shop_line', 'shop_log'] })
  t.equal(extractModule(copy, 'nobody', `${archive}.none`), undefined)
  await execute('DROP FUNCTION shop_logs CASCADE')
  await storage.purge('shop')
  t.strictSame((await storage.schema()).ledger, [])
  const tables = ['shop', 'shop_change', 'shop_line', 'shop_log']
  t.strictSame(await storage.restoreModule(archive), { module: 'shop', tables })
  t.strictSame(await contentOf(storage), before)
  t.strictSame(await storage.schema(), schema)
  t.strictSame(await storage.restoreModule(archive), { module: 'shop', tables: [] })
  t.equal(
    (await execute(`SELECT nextval(pg_get_serial_sequence('shop', 'id'))::int AS next`)).rows[0].next,
    21,
  )
  t.equal((await execute('SELECT count(*)::int AS count FROM shop_change')).rows[0].count, 1)

  const other = await open({ file: join(directory, 'other.db') })
  await t.rejects(other.restoreModule(archive), { name: 'MigrationError', message: /"shop_change"/ })
  await execute('DROP FUNCTION shop_logs CASCADE')
  await storage.purge('shop')
  await storage.migrate(sets)
  await t.rejects(storage.restoreModule(archive), {
    name: 'MigrationError',
    message: /002-own is applied/,
  })
})

t.test('the archive of a module goes from one engine to the other', { skip }, async (t) => {
  const { storage, directory, execute, sets, open } = await shop(t)
  const before = await contentOf(storage)
  const sqlite = await open({ file: join(directory, 'other.db') })
  const paths = ['copy', 'archive', 'back', 'again'].map((name) => join(directory, `${name}.db`))
  const [copy, archive, back, again] = paths as [string, string, string, string]
  await storage.copyTo(copy)
  extractModule(copy, 'shop', archive)
  await sqlite.restoreModule(archive)
  t.strictSame(await contentOf(sqlite), before)
  await sqlite.copyTo(back)
  extractModule(back, 'shop', again)
  await execute('DROP FUNCTION shop_logs CASCADE')
  await storage.purge('shop')
  await t.rejects(storage.restoreModule(again), {
    name: 'MigrationError',
    message: /PostgreSQL form of 001-shop of shop is unknown/,
  })
  await storage.restoreModule(again, sets)
  t.strictSame(await contentOf(storage), before)
})

t.test('a copy that cannot be written leaves nothing', { skip }, async (t) => {
  const { storage, directory } = await shop(t)
  const file = join(directory, 'missing', 'copy.db')
  await t.rejects(storage.copyTo(file), { message: /cannot be copied to .*Is there enough disk space/ })
  t.notOk(existsSync(file))
  await storage.copyTo(join(directory, 'copy.db'))
})
