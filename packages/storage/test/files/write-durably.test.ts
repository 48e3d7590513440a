import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { writeDurably, writeNewDurably } from '../../src/files/write-durably.ts'

t.test('a new file is complete, with its mode, and no other file stays', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'secret')
  await writeNewDurably(file, 'text', 0o600)
  t.equal(await readFile(file, 'utf8'), 'text')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.same(await readdir(folder), ['secret'])
})

t.test('a file that exists is never overwritten by a new one', async (t) => {
  const folder = t.testdir({ secret: 'previous' })
  const file = join(folder, 'secret')
  await t.rejects(writeNewDurably(file, 'text'), { code: 'EEXIST', path: file })
  t.equal(await readFile(file, 'utf8'), 'previous')
  t.same(await readdir(folder), ['secret'])
})

t.test('a file that is replaced keeps its mode', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'secret')
  await writeFile(file, 'previous', { mode: 0o640 })
  await writeDurably(file, 'next')
  t.equal(await readFile(file, 'utf8'), 'next')
  t.equal((await stat(file)).mode & 0o777, 0o640)
  t.same(await readdir(folder), ['secret'])
})
