import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeRefusal } from '../../src/sqlite/write-refusal.ts'
import { skip, smallVolume } from '../small-volume.ts'

t.test('a writable folder gives no reason and keeps no file', async (t) => {
  const folder = t.testdir()
  t.equal(writeRefusal(join(folder, 'app.db')), undefined)
  t.strictSame(readdirSync(folder), [])
})

t.test('a full or read-only file system is distinguished from a disk that fails', { skip }, async (t) => {
  const volume = smallVolume(t, 8)
  const file = join(volume.folder, 'app.db')
  volume.fill(1024 * 1024)
  t.equal(writeRefusal(file), 'the disk is full')
  volume.makeReadOnly()
  t.equal(writeRefusal(file), 'the file system is read-only')
  t.strictSame(readdirSync(volume.folder), ['filler'])
})
