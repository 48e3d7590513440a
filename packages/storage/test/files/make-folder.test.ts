import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { makeFolder } from '../../src/files/make-folder.ts'

t.test('a folder is made with those above it, or found', async (t) => {
  const folder = join(t.testdir(), 'one', 'two', 'three')
  t.equal(await makeFolder(folder, 0o700), true)
  t.equal((await stat(folder)).mode & 0o777, 0o700)
  t.equal(await makeFolder(folder), false)
})

t.test('a file in its place is left alone', async (t) => {
  const file = join(t.testdir(), 'file')
  await writeFile(file, '')
  await t.rejects(makeFolder(file), { code: 'EEXIST' })
})
