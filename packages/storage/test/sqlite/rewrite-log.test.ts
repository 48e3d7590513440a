import { mkdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { acquireFileLock, databaseLockFile } from '../../src/files/file-lock.ts'
import { rewriteLeftLog, rewriteLog } from '../../src/sqlite/rewrite-log.ts'

const LONG_AGO = new Date('2001-01-01')

/** A database whose log is larger than what is rewritten at a time, last written long ago. */
function leftDatabase(folder: string) {
  const file = join(folder, 'app.db')
  const log = `${file}-wal`
  const bytes = Buffer.from(Array.from({ length: 2_500_001 }, (_, index) => (index * 7) % 251))
  writeFileSync(file, '')
  writeFileSync(log, bytes)
  utimesSync(log, LONG_AGO, LONG_AGO)
  return { file, log, bytes, isRewritten: () => statSync(log).mtimeMs !== LONG_AGO.getTime() }
}

t.test('rewrites all bytes of a log', async (t) => {
  const { file, log, bytes, isRewritten } = leftDatabase(t.testdir())
  rewriteLog(file)
  t.ok(isRewritten())
  t.ok(readFileSync(log).equals(bytes))
})

t.test('finds the log of a database that is a link', async (t) => {
  const folder = t.testdir({ elsewhere: {} })
  const { file, isRewritten } = leftDatabase(join(folder, 'elsewhere'))
  symlinkSync(file, join(folder, 'linked.db'))
  rewriteLog(join(folder, 'linked.db'))
  t.ok(isRewritten())
})

t.test('makes no log where there is none', async (t) => {
  const file = join(t.testdir(), 'app.db')
  for (const make of [() => {}, () => writeFileSync(file, '')]) {
    make()
    rewriteLog(file)
    rewriteLeftLog(file)
  }
  t.throws(() => statSync(`${file}-wal`), { code: 'ENOENT' })
  t.throws(() => statSync(databaseLockFile(file)), { code: 'ENOENT' })
})

t.test('a log that cannot be written is an error that names it', async (t) => {
  const file = join(t.testdir({ 'app.db': '' }), 'app.db')
  mkdirSync(`${file}-wal`)
  t.throws(() => rewriteLog(file), { code: 'EISDIR', path: `${file}-wal` })
})

t.test('beside a host the log is left alone: that one has rewritten it', async (t) => {
  const { file, isRewritten } = leftDatabase(t.testdir())
  const lock = acquireFileLock(databaseLockFile(file))
  rewriteLeftLog(file)
  t.notOk(isRewritten())
  lock?.release()
  rewriteLeftLog(file)
  t.ok(isRewritten())
  const free = acquireFileLock(databaseLockFile(file))
  t.ok(free, 'and its lock is free again')
  free?.release()
})
