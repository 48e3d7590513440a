import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/files/open-database.ts'

function folderAfterOpening(t: Test, configured: string | undefined): string | undefined {
  const { SQLITE_TMPDIR: before } = process.env
  t.teardown(() => {
    if (before === undefined) delete process.env.SQLITE_TMPDIR
    else process.env.SQLITE_TMPDIR = before
  })
  if (configured === undefined) delete process.env.SQLITE_TMPDIR
  else process.env.SQLITE_TMPDIR = configured
  openDatabase(join(t.testdirName, 'app.db')).close()
  return process.env.SQLITE_TMPDIR
}

t.test('temporary files lie beside the database', async (t) => {
  const folder = t.testdir()
  t.equal(folderAfterOpening(t, undefined), folder)
  t.equal(
    folderAfterOpening(t, join(folder, 'missing')),
    folder,
    'where the configured folder cannot be written',
  )
})

t.test('a folder that can be written is kept', async (t) => {
  const other = join(t.testdir(), 'other')
  mkdirSync(other)
  t.equal(folderAfterOpening(t, other), other)
})
