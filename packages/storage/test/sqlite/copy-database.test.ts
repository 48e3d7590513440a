import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { run, sql } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { findCorruption } from '../../src/sqlite/find-corruption.ts'
import { temporaryStorage } from '../temporary-storage.ts'

const SCHEMA = `
  CREATE TABLE entry (id INTEGER PRIMARY KEY, pair INTEGER NOT NULL, filler BLOB NOT NULL);
  CREATE TABLE other (id INTEGER PRIMARY KEY, pair INTEGER NOT NULL);`

/** One transaction writes both tables, far apart in the file. */
function* pair(number: number) {
  yield* run(sql`INSERT INTO entry (pair, filler) VALUES (${number}, randomblob(2000))`)
  yield* run(sql`INSERT INTO other (pair) VALUES (${number})`)
}

function open(file: string): SqliteDatabase.Database {
  return new SqliteDatabase(file, { readonly: true })
}

t.test('a copy has what was committed, the log included, for its owner only, and is one file', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  await storage.transaction(() => pair(1))
  t.ok(statSync(`${storage.file}-wal`).size > 0)
  const folder = join(t.testdirName, 'copies')
  mkdirSync(folder)
  const file = join(folder, 'copy.db')
  await storage.copyTo(file)
  t.equal(statSync(file).mode & 0o777, 0o600)
  const copy = open(file)
  t.strictSame(copy.prepare('SELECT id, pair FROM entry').all(), [{ id: 1, pair: 1 }])
  copy.close()
  t.strictSame(readdirSync(folder), ['copy.db'])

  await storage.transaction(() => pair(2))
  await storage.copyTo(file)
  const newer = open(file)
  t.equal(newer.prepare('SELECT count(*) FROM entry').pluck().get(), 2, 'it replaces a previous one')
  newer.close()
})

t.test('while it is written to, a copy has each transaction whole or not at all, in order', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  for (let group = 0; group < 40; group++) {
    await Promise.all(
      Array.from({ length: 100 }, (_, at) => storage.transaction(() => pair(group * 100 + at))),
    )
  }
  let last = 3_999
  let copying = true
  const writer = (async () => {
    while (copying) await storage.transaction(() => pair(++last))
  })()
  const begun = last
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const file = join(t.testdirName, 'copy.db')
  await storage.copyTo(file)
  delay.disable()
  copying = false
  await writer
  t.ok(last > begun, 'it was written to meanwhile')
  t.equal(findCorruption(file), undefined)
  const copy = open(file)
  const [entries, others] = ['entry', 'other'].map((table) =>
    copy.prepare(`SELECT pair FROM ${table} ORDER BY pair`).pluck().all(),
  )
  copy.close()
  t.strictSame(entries, others)
  const count = entries?.length ?? 0
  t.strictSame(
    entries,
    Array.from({ length: count }, (_, at) => at),
    'without a gap',
  )
  t.ok(count >= 4_000 && count <= last + 1)
  t.comment(`longest turn: ${(delay.max / 1e6).toFixed(1)} ms`)
})

t.test('a failed copy leaves no file, and the storage continues', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  const folder = join(t.testdirName, 'copies')
  mkdirSync(join(folder, 'full'), { recursive: true })
  await t.rejects(storage.copyTo(join(folder, 'missing', 'copy.db')), { message: /cannot be copied to/ })
  writeFileSync(join(folder, 'file'), '')
  await t.rejects(
    storage.copyTo(join(folder, 'full')),
    { message: /cannot be copied to/ },
    'a folder is in its place',
  )
  t.strictSame(readdirSync(folder).sort(), ['file', 'full'])
  await storage.transaction(() => pair(1))
})

t.test('closing waits for a copy under way, and then takes none', async (t) => {
  const storage = await temporaryStorage(t, SCHEMA)
  await storage.transaction(() => pair(1))
  const file = join(t.testdirName, 'copy.db')
  const copying = storage.copyTo(file)
  await storage.close()
  t.ok(existsSync(file))
  await copying
  await t.rejects(storage.copyTo(file), { message: /closed/ })
})
