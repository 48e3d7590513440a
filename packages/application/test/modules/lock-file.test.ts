import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { NewerHostError } from '../../src/config/newer-host-error.ts'
import {
  type LockFile,
  lockedPackages,
  lockFilePath,
  readLockFile,
  storedModule,
  writeLockFile,
} from '../../src/modules/lock-file.ts'
import { temporaryFolder } from '../application-folder.ts'

const sri = (letter: string) => `sha512-${letter.repeat(86)}==`
const locked = {
  package: '@acme/note',
  version: '1.2.3',
  spec: './note',
  integrity: sri('a'),
  tree: sri('b'),
  enabled: true,
}
const lock: LockFile = { lockVersion: 1, generation: 7, modules: { note: locked } }

t.test('a written lock file is read back, and no other file stays', async (t) => {
  const folder = await temporaryFolder(t)
  await writeLockFile(folder, lock)
  t.same(await readLockFile(folder), lock)
  t.same(await readdir(folder), ['modules.lock.json'])
  t.match(await readFile(lockFilePath(folder), 'utf8'), /\}\n$/)
})

t.test('a missing or broken lock file is an error, never an empty one', async (t) => {
  const folder = await temporaryFolder(t)
  await t.rejects(readLockFile(folder), { name: 'LockFileError', directory: folder, message: /is missing/ })
  const broken = [
    '',
    '{}',
    '<<<<<<< HEAD',
    JSON.stringify({ ...lock, generation: '7' }),
    JSON.stringify({ ...lock, x: 1 }),
  ]
  for (const text of broken) {
    await writeFile(lockFilePath(folder), text)
    await t.rejects(
      readLockFile(folder),
      { name: 'LockFileError', directory: folder, message: /is (empty|not JSON|not a lock file)/ },
      text,
    )
  }
})

t.test('a newer lock file format is refused: this host is too old', async (t) => {
  const folder = await temporaryFolder(t)
  await writeFile(lockFilePath(folder), JSON.stringify({ lockVersion: 2, packages: {} }))
  const reading = readLockFile(folder)
  await t.rejects(reading, NewerHostError)
  await t.rejects(reading, { message: /written by a newer host: its "lockVersion" is 2/ })
})

t.test('a lock file names the pinned host and the modules', async (t) => {
  const { enabled: _, ...host } = { ...locked, package: '@mortise/cli' }
  const folder = await temporaryFolder(t)
  await writeLockFile(folder, { ...lock, host })
  t.same(await readLockFile(folder), { ...lock, host })
  t.same(
    [...lockedPackages({ ...lock, host })],
    [
      ['host', host],
      ['note', locked],
    ],
  )
  t.same([...lockedPackages(lock).keys()], ['note'])
})

t.test('each content of a package has a folder of its own in the store', async (t) => {
  t.match(storedModule('/app', locked), /^\/app\/\.app\/store\/@acme\+note@1\.2\.3-[0-9a-f]{16}$/)
  t.not(storedModule('/app', locked), storedModule('/app', { ...locked, tree: sri('c') }))
})
