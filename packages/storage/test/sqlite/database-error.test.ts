import { join } from 'node:path'
import { DatabaseError } from '@mortise/module-sdk'
import SqliteDatabase from 'better-sqlite3'
import t from 'tap'
import { BrokenStorageError } from '../../src/port/errors.ts'
import { toCommitError, toDatabaseError } from '../../src/sqlite/database-error.ts'
import { skip, smallVolume } from '../small-volume.ts'

const sqliteError = (code: string) => new SqliteDatabase.SqliteError('no luck', code)

t.test('SQLite error codes become kinds', async (t) => {
  const kinds = {
    SQLITE_CONSTRAINT_UNIQUE: 'unique',
    SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
    SQLITE_CONSTRAINT_ROWID: 'unique',
    SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign-key',
    SQLITE_CONSTRAINT_CHECK: 'check',
    SQLITE_CONSTRAINT_NOTNULL: 'not-null',
    SQLITE_CONSTRAINT_TRIGGER: 'other',
    SQLITE_BUSY: 'busy',
    SQLITE_BUSY_SNAPSHOT: 'busy',
    SQLITE_LOCKED: 'busy',
    SQLITE_READONLY: 'read-only',
    SQLITE_FULL: 'full',
    SQLITE_IOERR_SHMSIZE: 'full',
    SQLITE_CANTOPEN: 'unavailable',
    SQLITE_IOERR_GETTEMPPATH: 'unavailable',
    SQLITE_NOMEM: 'unavailable',
  }
  for (const [code, kind] of Object.entries(kinds)) {
    const cause = sqliteError(code)
    const error = toDatabaseError(cause, ' INSERT\n  INTO item', '') as DatabaseError
    t.type(error, DatabaseError)
    t.notOk(error instanceof BrokenStorageError)
    t.match(error, { kind, cause, message: `no luck (${code}), in: INSERT INTO item` })
  }
})

t.test('I/O errors and corruption are distinguished', async (t) => {
  for (const code of ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR', 'SQLITE_CORRUPT', 'SQLITE_NOTADB']) {
    t.type(toDatabaseError(sqliteError(code), 'SELECT 1', ''), BrokenStorageError, code)
  }
})

t.test('a failed write counts as a full disk only if the file system says so', async (t) => {
  const failed = (file: string) => toDatabaseError(sqliteError('SQLITE_IOERR_WRITE'), 'COMMIT', file)
  t.type(failed(join(t.testdir(), 'app.db')), BrokenStorageError)
  if (skip) return
  const volume = smallVolume(t, 2)
  t.match(failed(join(volume.folder, 'app.db')), { kind: 'full', message: /^the disk is full: no luck/ })
})

t.test('long statements are shortened, foreign errors left alone', async (t) => {
  const { message } = toDatabaseError(sqliteError('SQLITE_ERROR'), 'x'.repeat(1000), '') as Error
  t.ok(message.length < 300 && message.endsWith('…'))
  const error = new Error('mine')
  t.equal(toDatabaseError(error, '', ''), error)
})

t.test(
  'a COMMIT that fails has an unknown outcome, unless SQLite says that nothing has happened',
  async (t) => {
    for (const code of ['SQLITE_CONSTRAINT', 'SQLITE_CONSTRAINT_FOREIGNKEY', 'SQLITE_FULL'])
      t.notOk(toCommitError(sqliteError(code), '') instanceof BrokenStorageError, code)
    // The last one comes after the log is on the disk.
    for (const code of ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_WRITE', 'SQLITE_NOMEM', 'SQLITE_IOERR_SHMSIZE']) {
      const error = toCommitError(sqliteError(code), join(t.testdir(), 'app.db'))
      t.type(error, BrokenStorageError, code)
      t.match(error, { kind: 'unknown-outcome', message: /app\.db/ })
      t.match((error as BrokenStorageError).afterwards, { kind: 'unavailable', cause: error })
    }
  },
)
