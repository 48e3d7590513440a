import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { replaceFile } from '../../src/files/write-durably.ts'

t.test('replaces the text that was expected, and no other', async (t) => {
  const file = join(t.testdir({ file: 'previous' }), 'file')
  t.equal(await replaceFile(file, 'previous', 'next'), true)
  t.equal(readFileSync(file, 'utf8'), 'next')
  writeFileSync(file, 'of another user')
  t.equal(await replaceFile(file, 'previous', 'next'), false)
  t.equal(readFileSync(file, 'utf8'), 'of another user')
})

t.test('an equal text is written again, because its first sync may have failed', async (t) => {
  const file = join(t.testdir({ file: 'next' }), 'file')
  const before = statSync(file).ino
  t.equal(await replaceFile(file, 'previous', 'next'), true)
  t.not(statSync(file).ino, before)
  t.equal(readFileSync(file, 'utf8'), 'next')
})
