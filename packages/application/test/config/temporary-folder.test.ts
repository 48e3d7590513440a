import { readdir, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { acquireFileLock } from '@mortise/storage'
import t, { type Test } from 'tap'
import { inTemporaryFolder, temporaryPrefix } from '../../src/config/temporary-folder.ts'
import { applicationFolder } from '../application-folder.ts'

function withTmpdir(t: Test, folder: string): void {
  const { TMPDIR: before } = process.env
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  process.env.TMPDIR = folder
}

t.test("a temporary folder is inside the system's, empty, and deleted at the end", async (t) => {
  const folder = await inTemporaryFolder(undefined, async (folder) => {
    t.equal(dirname(folder), await realpath(tmpdir()))
    t.same(await readdir(folder), [])
    await writeFile(join(folder, 'file'), '')
    return folder
  })
  await t.rejects(readdir(folder), { code: 'ENOENT' })
})

t.test('without a system folder the temporary folder is in .app, held by a lock', async (t) => {
  const directory = await applicationFolder(t)
  withTmpdir(t, join(directory, 'missing'))
  const own = join(directory, '.app')
  const before = await readdir(own)
  await inTemporaryFolder(directory, async (folder) => {
    t.same(await readdir(folder), [])
    t.ok(folder.startsWith(join(own, temporaryPrefix)))
    t.equal(acquireFileLock(join(dirname(folder), 'lock')), undefined)
  })
  t.same(await readdir(own), before)
})

t.test('without both folders it fails and names the folder', async (t) => {
  const missing = join(t.testdir(), 'missing')
  withTmpdir(t, missing)
  await t.rejects(
    inTemporaryFolder(undefined, async () => {}),
    { code: 'ENOENT', path: missing } as never,
  )
})
