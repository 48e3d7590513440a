import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { many, one, run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStorage } from '../src/open-storage.ts'
import { StorageBusyError } from '../src/port/errors.ts'
import { openSeparate } from '../src/sqlite/open-connections.ts'
import { insertItem, SCHEMA, temporaryStorage } from './temporary-storage.ts'

const items = sql`SELECT id FROM item ORDER BY id`

/** A database whose table `item` is garbage on disk. */
async function corruptDatabase(t: Test): Promise<string> {
  const file = join(t.testdir(), 'app.db')
  const before = await openStorage({ file, onFatal: () => {} })
  const database = new SqliteDatabase(file)
  database.exec(SCHEMA)
  const page = database
    .prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'item'`)
    .pluck()
    .get() as number
  database.close()
  await before.close()
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096)
  closeSync(descriptor)
  return file
}

t.test('makes the folder and the file, for their owner only', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  await storage.transaction(() => run(insertItem(1, 'a')))
  t.equal(statSync(join(storage.file, '..')).mode & 0o777, 0o700)
  for (const suffix of ['', '-wal', '-shm', '.lock']) {
    t.equal(statSync(storage.file + suffix).mode & 0o777, 0o600, suffix)
  }
})

t.test('one file has one host at a time', async (t) => {
  const first = await temporaryStorage(t, SCHEMA)
  const second = () => openStorage({ file: first.file, onFatal: () => {} })
  await t.rejects(second(), StorageBusyError)
  await t.rejects(second(), { message: /in use by another.*Stop it/ }, 'an attempt does not free it')
  await first.transaction(() => run(insertItem(1, 'a')))
  await first.close()
  const next = await second()
  t.strictSame(await next.many(items), [{ id: 1 }])
  await next.close()
})

t.test('a file that is not a database is refused unchanged, and the lock is released', async (t) => {
  const file = join(t.testdir(), 'notes.txt')
  const content = 'shopping list '.repeat(500)
  writeFileSync(file, content)
  await t.rejects(openStorage({ file, onFatal: () => {} }), {
    message: /notes\.txt cannot be opened.*SQLite database/,
  })
  t.equal(readFileSync(file, 'utf8'), content)
  writeFileSync(file, '')
  await (await openStorage({ file, onFatal: () => {} })).close()
})

t.test('closing finishes what is queued and leaves a single file', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const queued = [1, 2, 3].map((id) => storage.transaction(() => run(insertItem(id, `item ${id}`))))
  const closing = storage.close()
  t.equal(storage.close(), closing, 'it may be repeated')
  await t.rejects(
    storage.transaction(() => run(insertItem(4, 'd'))),
    { name: 'DatabaseError', message: /closed/ },
  )
  t.strictSame(await Promise.all(queued), [1, 1, 1])
  await closing
  await t.rejects(storage.many(items), { name: 'DatabaseError', message: /closed/ })
  await t.rejects(
    storage.snapshot(() => many(items)),
    { message: /closed/ },
  )
  await t.rejects(storage.migrate([]), { message: /closed/ })
  t.notOk(existsSync(`${storage.file}-wal`))
  const database = new SqliteDatabase(storage.file)
  t.equal(database.prepare('SELECT count(*) FROM item').pluck().get(), 3)
  database.close()
})

/** What a host that was killed leaves of a database with a row. @returns its file */
async function leftDatabase(t: Test): Promise<string> {
  const storage = await temporaryStorage(t, SCHEMA)
  await storage.transaction(() => run(insertItem(1, 'a')))
  const file = join(dirname(storage.file), 'left.db')
  for (const suffix of ['', '-wal']) copyFileSync(storage.file + suffix, file + suffix)
  const longAgo = new Date('2001-01-01')
  utimesSync(`${file}-wal`, longAgo, longAgo)
  return file
}

t.test('a leftover log is rewritten before a host opens the database', async (t) => {
  const file = await leftDatabase(t)
  const storage = await openStorage({ file, onFatal: () => {} })
  t.teardown(() => storage.close())
  t.not(statSync(`${file}-wal`).mtime.getFullYear(), 2001)
  t.strictSame(await storage.many(items), [{ id: 1 }])
})

t.test('another process that copies the log at its end changes nothing else', async (t) => {
  const file = await leftDatabase(t)
  const database = openSeparate(file)
  t.teardown(() => database.close())
  t.not(statSync(`${file}-wal`).mtime.getFullYear(), 2001)
  t.strictSame(database.prepare('SELECT id FROM item').all(), [{ id: 1 }])
})

t.test('a log that cannot be written keeps the database closed, and its lock free', async (t) => {
  const file = await leftDatabase(t)
  const content = readFileSync(file)
  renameSync(`${file}-wal`, `${file}-wal-aside`)
  mkdirSync(`${file}-wal`)
  await t.rejects(openStorage({ file, onFatal: () => {} }), {
    message: /left\.db cannot be opened/,
    path: file,
  })
  t.notOk(existsSync(`${file}-shm`), 'SQLite has not looked at it')
  t.ok(readFileSync(file).equals(content))
  rmdirSync(`${file}-wal`)
  renameSync(`${file}-wal-aside`, `${file}-wal`)
  const storage = await openStorage({ file, onFatal: () => {} })
  t.strictSame(await storage.many(items), [{ id: 1 }])
  await storage.close()
})

t.test('a snapshot shows one moment, and the next one a later', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const other = new SqliteDatabase(storage.file)
  t.teardown(() => other.close())
  const insert = other.prepare('INSERT INTO item VALUES (?, ?, 1)')
  const seen = await storage.snapshot(function* () {
    const before = yield* many(items)
    insert.run(1, 'a')
    return [before, yield* many(items)]
  })
  t.strictSame(seen, [[], []])
  t.strictSame(await storage.snapshot(() => one(items)), { id: 1 })
})

t.test('a nested snapshot is an error without effect', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  let inner: Promise<unknown> | undefined
  const outer = storage.snapshot(function* () {
    yield* many(items)
    inner = storage.snapshot(() => many(items))
    inner.catch(() => {})
    return yield* many(items)
  })
  t.strictSame(await outer, [])
  await t.rejects(inner as unknown as Promise<unknown>, {
    name: 'DatabaseError',
    message: /within a transaction/,
  })
})

t.test('a transaction waits for a write lock of another process', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const other = new SqliteDatabase(storage.file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const write = storage.transaction(() => run(insertItem(1, 'a')))
  const read = await storage.many(items)
  t.strictSame(read, [], 'reads go on')
  await nextTurn()
  await nextTurn()
  other.exec('COMMIT')
  t.equal(await write, 1)
})

t.test('a corrupt file is fatal: one call of onFatal, and nothing is accepted any more', async (t) => {
  const file = await corruptDatabase(t)
  const fatal: Error[] = []
  const storage = await openStorage({ file, onFatal: (error) => fatal.push(error) })
  const queued = storage.transaction(() => run(sql`INSERT INTO late VALUES (1, NULL)`))
  const queuedFails = t.rejects(queued, { message: /cannot be trusted/ })
  await t.rejects(storage.many(items), { kind: 'unavailable', message: /SQLITE_CORRUPT.*Check the disk/s })
  await queuedFails
  await t.rejects(storage.many(sql`SELECT 1`), { message: /cannot be trusted/ })
  await t.rejects(
    storage.transaction(() => run(insertItem(1, 'a'))),
    { message: /cannot be trusted/ },
  )
  t.equal(fatal.length, 1)
  await storage.close()
})

t.test('a corrupt page met by a write is fatal too', async (t) => {
  const file = await corruptDatabase(t)
  const fatal: Error[] = []
  const storage = await openStorage({ file, onFatal: (error) => fatal.push(error) })
  const harmless = storage.transaction(() => run(sql`INSERT INTO late VALUES (1, NULL)`))
  const harmful = storage.transaction(function* () {
    try {
      yield* run(insertItem(1, 'a'))
    } catch {
      return 'caught'
    }
  })
  await t.rejects(harmful, { message: /cannot be trusted/ }, 'a generator cannot catch it')
  await t.rejects(harmless, { message: /cannot be trusted/ }, 'its group was not committed')
  t.equal(fatal.length, 1)
  await storage.close()
})
