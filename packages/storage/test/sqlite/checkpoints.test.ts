import { statSync } from 'node:fs'
import { join } from 'node:path'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { Checkpoints } from '../../src/sqlite/checkpoints.ts'
import { openReader, openWriter } from '../../src/sqlite/open-connections.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const PAGE = 4096

/** A database whose checkpoints can be made to fail, and that counts them. */
function opened(t: Test) {
  const file = join(t.testdir(), 'app.db')
  const { database } = openWriter(file)
  t.teardown(() => database.close())
  database.exec('CREATE TABLE page (bytes BLOB)')
  const state = { failure: undefined as Error | undefined, tries: 0, told: [] as (string | undefined)[] }
  const prepare = database.prepare.bind(database)
  t.intercept(database, 'prepare', {
    value: (text: string) => {
      const statement = prepare(text)
      if (!text.includes('PASSIVE')) return statement
      const raw = statement.raw()
      const get = raw.get.bind(raw)
      t.intercept(raw, 'get', {
        value: () => {
          state.tries += 1
          if (state.failure !== undefined) throw state.failure
          return get()
        },
      })
      t.intercept(raw, 'raw', { value: () => raw })
      return raw
    },
  })
  const { promise: passes, resolve } = Promise.withResolvers<void>()
  const checkpoints = new Checkpoints(database, (failure) => {
    state.told.push(failure?.message)
    if (failure === undefined) resolve()
  })
  t.teardown(() => checkpoints.end())
  const write = (pages: number) => void prepare('INSERT INTO page VALUES (zeroblob(?))').run(pages * PAGE)
  return { file, database, checkpoints, state, write, passes }
}

t.test('the log is written back from 1000 pages on', async (t) => {
  const { checkpoints, state, write, file } = opened(t)
  write(900)
  checkpoints.run()
  t.equal(state.tries, 0)
  write(200)
  checkpoints.run()
  checkpoints.run()
  t.equal(state.tries, 1)
  t.ok(statSync(file).size > 1100 * PAGE)
  t.strictSame(state.told, [], 'what passes is not told')
})

t.test('a failure is reported at its begin and end, and delays no write', async (t) => {
  const { checkpoints, state, write, passes } = opened(t)
  state.failure = new Error('the disk is gone')
  for (let time = 0; time < 5; time += 1) {
    write(1100)
    checkpoints.run()
  }
  t.equal(state.tries, 1)
  t.equal(checkpoints.failure, state.failure)
  t.ok(checkpoints.bytes > 5500 * PAGE)
  state.failure = undefined
  // The timer of the next try does not keep the process.
  const kept = setTimeout(() => {}, 10_000)
  t.teardown(() => clearTimeout(kept))
  await passes
  t.equal(checkpoints.failure, undefined)
  t.strictSame(state.told, ['the disk is gone', undefined])
})

t.test('while another process reads what is in the log, it is tried each 1000 pages', async (t) => {
  const { checkpoints, state, write, file } = opened(t)
  const reader = openReader(file)
  t.teardown(() => reader.database.close())
  reader.begin()
  reader.all(sql`SELECT count(*) FROM page`)
  write(1100)
  checkpoints.run()
  for (let time = 0; time < 10; time += 1) {
    write(50)
    checkpoints.run()
  }
  t.equal(state.tries, 1)
  write(1000)
  checkpoints.run()
  t.equal(state.tries, 2)
  reader.rollback()
  write(1000)
  checkpoints.run()
  const [, pages, done] = state.tries === 3 ? noop(file) : []
  t.equal(done, pages)
  t.strictSame(state.told, [])
})

const noop = (file: string) => {
  const database = new SqliteDatabase(file)
  try {
    return database.prepare('PRAGMA wal_checkpoint(NOOP)').raw().get() as number[]
  } finally {
    database.close()
  }
}

t.test('a large log shrinks after a checkpoint', async (t) => {
  const { checkpoints, write } = opened(t)
  write(8000)
  t.ok(checkpoints.bytes > 8000 * PAGE)
  checkpoints.run()
  write(1)
  t.ok(checkpoints.bytes <= 4096 * PAGE)
})

t.test('the storage runs checkpoints between transactions', async (t) => {
  const storage = await temporaryStorage(t, 'CREATE TABLE page (bytes BLOB)')
  for (let time = 0; time < 40; time += 1) {
    await storage.transaction(function* () {
      yield* run(sql`INSERT INTO page VALUES (zeroblob(${100 * PAGE}))`)
    })
  }
  t.ok(storage.wal && storage.wal.bytes < 2000 * PAGE, `${storage.wal?.bytes}`)
  t.equal(storage.wal?.failure, undefined)
})

t.test('a log that cannot be copied at the end stays, and is reported', async (t) => {
  const fails = (t: Test) =>
    t.intercept(SqliteDatabase.prototype, 'pragma', {
      value: () => {
        throw new Error('the disk is gone')
      },
    })
  const told: (string | undefined)[] = []
  const file = join(t.testdir(), 'app.db')
  const storage = await temporaryStorage(t, '', {
    file,
    onCheckpoint: (failure) => told.push(failure?.message),
  })
  await storage.many(sql`SELECT 1`)
  const alone = await openStorage({ file: `${file}.other`, onFatal: t.fail })
  fails(t)
  await storage.close()
  t.strictSame(told, ['the disk is gone'])
  await t.rejects(alone.close(), /the disk is gone/)
})
