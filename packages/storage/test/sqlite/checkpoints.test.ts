import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { type CheckpointCounts, Checkpoints } from '../../src/sqlite/checkpoints.ts'
import { openReader, openWriter } from '../../src/sqlite/open-connections.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const PAGE = 4096

/** A database whose checkpoints can be made to fail, and that counts them. */
function opened(t: Test) {
  const file = join(t.testdir(), 'app.db')
  const { database } = openWriter(file)
  t.teardown(() => database.close())
  database.exec('CREATE TABLE page (bytes BLOB)')
  const state = { failure: undefined as Error | undefined, tries: 0, reported: [] as (string | undefined)[] }
  let isExclusive = false
  const { promise: passes, resolve } = Promise.withResolvers<void>()
  const checkpoints = new Checkpoints(database, {
    checkpoint: async (mode) => {
      if (!isExclusive) state.tries += 1
      if (state.failure !== undefined) throw state.failure
      return database.prepare(`PRAGMA wal_checkpoint(${mode})`).raw().get() as CheckpointCounts
    },
    exclusive: async (work) => {
      isExclusive = true
      return work().finally(() => {
        isExclusive = false
      })
    },
    onChange: (failure) => {
      state.reported.push(failure?.message)
      if (failure === undefined) resolve()
    },
  })
  t.teardown(async () => {
    await checkpoints.stop()
    checkpoints.end()
  })
  const insert = database.prepare('INSERT INTO page VALUES (zeroblob(?))')
  const write = (pages: number) => void insert.run(pages * PAGE)
  const run = async () => {
    checkpoints.run()
    await nextTurn()
  }
  return { file, database, checkpoints, state, write, run, passes }
}

t.test('the log is written back from 4000 pages on', async (t) => {
  const { run, state, write, file } = opened(t)
  write(3900)
  await run()
  t.equal(state.tries, 0)
  write(200)
  await run()
  await run()
  t.equal(state.tries, 1)
  t.ok(statSync(file).size > 4100 * PAGE)
  t.strictSame(state.reported, [], 'what passes is not reported')
})

t.test('a failure is reported at its begin and end, and delays no write', async (t) => {
  const { checkpoints, run, state, write, passes } = opened(t)
  state.failure = new Error('the disk is gone')
  for (let time = 0; time < 5; time += 1) {
    write(4100)
    await run()
  }
  // Another try follows after a time, which a slow machine may need for the writes.
  t.ok(state.tries >= 1 && state.tries < 5, 'not with each write')
  t.equal(checkpoints.failure, state.failure)
  t.ok(checkpoints.bytes > 20_500 * PAGE)
  state.failure = undefined
  // The timer of the next try does not keep the process.
  const kept = setTimeout(() => {}, 10_000)
  t.teardown(() => clearTimeout(kept))
  await passes
  t.equal(checkpoints.failure, undefined)
  t.strictSame(state.reported, ['the disk is gone', undefined])
})

t.test('what is written during a checkpoint is written back while nobody writes', async (t) => {
  const file = join(t.testdir(), 'app.db')
  const { database } = openWriter(file)
  t.teardown(() => database.close())
  database.exec('CREATE TABLE page (bytes BLOB)')
  const passive = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw()
  const insert = database.prepare('INSERT INTO page VALUES (zeroblob(?))')
  const written = Promise.withResolvers<void>()
  let isExclusive = false
  const checkpoints = new Checkpoints(database, {
    checkpoint: async () => {
      const counts = passive.get() as CheckpointCounts
      if (!isExclusive) insert.run(200 * PAGE)
      return counts
    },
    exclusive: async (work) => {
      isExclusive = true
      t.not(noop(file)[1], noop(file)[2], 'some is left')
      return work().finally(written.resolve)
    },
    onChange: (failure) => t.fail(`${failure}`),
  })
  insert.run(4100 * PAGE)
  checkpoints.run()
  await written.promise
  const [, pages, done] = noop(file)
  t.equal(done, pages)
  insert.run(1)
  t.ok((noop(file)[1] as number) < 10, 'the log starts from the beginning')
})

t.test('while another process reads what is in the log, it is tried each 4000 pages', async (t) => {
  const { run, state, write, file } = opened(t)
  const reader = openReader(file)
  t.teardown(() => reader.database.close())
  reader.begin()
  reader.all(sql`SELECT count(*) FROM page`)
  write(4400)
  await run()
  for (let time = 0; time < 10; time += 1) {
    write(200)
    await run()
  }
  t.equal(state.tries, 1)
  write(4000)
  await run()
  t.equal(state.tries, 2)
  reader.rollback()
  write(4000)
  await run()
  const [, pages, done] = state.tries === 3 ? noop(file) : []
  t.equal(done, pages)
  t.strictSame(state.reported, [])
})

const noop = (file: string) => {
  const database = new SqliteDatabase(file)
  try {
    return database.prepare('PRAGMA wal_checkpoint(NOOP)').raw().get() as number[]
  } finally {
    database.close()
  }
}

t.test('a checkpoint empties a large log, and no COMMIT does', async (t) => {
  const { checkpoints, run, write } = opened(t)
  write(8000)
  await run()
  write(1)
  t.ok(checkpoints.bytes > 8000 * PAGE, 'the next writes reuse its space')
  write(20_000)
  const size = checkpoints.bytes
  await run()
  t.equal(checkpoints.bytes, 0)
  t.ok(size > 20_000 * PAGE)
})

t.test('a large log stays while another process reads', async (t) => {
  const { checkpoints, run, state, write, file } = opened(t)
  write(20_000)
  const reader = openReader(file)
  t.teardown(() => reader.database.close())
  reader.begin()
  reader.all(sql`SELECT count(*) FROM page`)
  for (let time = 0; time < 10; time += 1) await run()
  t.ok(checkpoints.bytes > 20_000 * PAGE)
  t.equal(state.tries, 1)
  t.equal(checkpoints.failure, undefined)
  reader.rollback()
  write(1)
  await run()
  t.equal(checkpoints.bytes, 0)
})

t.test('the storage runs checkpoints between transactions', async (t) => {
  const storage = await temporaryStorage(t, 'CREATE TABLE page (bytes BLOB)')
  for (let time = 0; time < 200; time += 1) {
    await storage.transaction(function* () {
      yield* run(sql`INSERT INTO page VALUES (zeroblob(${100 * PAGE}))`)
    })
  }
  // A checkpoint ends beside the writes, and the next write begins at the start of the log.
  const isDone = () => statSync(storage.file).size > 4000 * PAGE && (noop(storage.file)[1] as number) < 4000
  while (!isDone()) {
    await storage.transaction(() => run(sql`INSERT INTO page VALUES (NULL)`))
  }
  t.equal(storage.wal?.failure, undefined)
})

t.test('a log that cannot be copied at the end stays, and is reported', async (t) => {
  const fails = (t: Test) =>
    t.intercept(SqliteDatabase.prototype, 'pragma', {
      value: () => {
        throw new Error('the disk is gone')
      },
    })
  const reported: (string | undefined)[] = []
  const file = join(t.testdir(), 'app.db')
  const storage = await temporaryStorage(t, '', {
    file,
    onCheckpoint: (failure) => reported.push(failure?.message),
  })
  await storage.many(sql`SELECT 1`)
  const alone = await openStorage({ file: `${file}.other`, onFatal: t.fail })
  fails(t)
  await storage.close()
  t.strictSame(reported, ['the disk is gone'])
  await t.rejects(alone.close(), /the disk is gone/)
})
