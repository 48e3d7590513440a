import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { emptyLock, type Lock, lockFile, readLock, storedModule, writeLock } from '../../src/modules/lock.ts'
import { temporaryFolder } from '../application-folder.ts'

const locked = {
  package: '@acme/note',
  version: '1.2.3',
  spec: './note',
  integrity: 'sha512-a',
  tree: 'sha512-b',
  enabled: true,
}
const lock: Lock = { lockVersion: 1, generation: 7, modules: { note: locked } }

t.test('what is written is read, and nothing else is left in the folder', async (t) => {
  const folder = await temporaryFolder(t)
  t.same(await readLock(folder), emptyLock)
  await writeLock(folder, lock)
  t.same(await readLock(folder), lock)
  t.same(await readdir(folder), ['modules.lock.json'])
  t.match(await readFile(lockFile(folder), 'utf8'), /\}\n$/)
})

t.test('a lock that is broken is refused with what to do', async (t) => {
  const folder = await temporaryFolder(t)
  const broken = [
    '',
    '{}',
    '<<<<<<< HEAD',
    JSON.stringify({ ...lock, generation: '7' }),
    JSON.stringify({ ...lock, x: 1 }),
  ]
  for (const text of broken) {
    await writeFile(lockFile(folder), text)
    await t.rejects(
      readLock(folder),
      { name: 'ConfigError', message: /restore it from version control/ },
      text,
    )
  }
})

t.test('each content of a package has a folder of its own in the store', async (t) => {
  t.match(storedModule('/app', locked), /^\/app\/\.app\/store\/@acme\+note@1\.2\.3-[0-9a-f]{16}$/)
  t.not(storedModule('/app', locked), storedModule('/app', { ...locked, tree: 'sha512-c' }))
})
