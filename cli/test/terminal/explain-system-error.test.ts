import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asFailure } from '@mortise/installer/explaining'
import t from 'tap'
import { runApp, testApplication } from '../run-app.ts'

const { skip, smallVolume } = await import(
  new URL('../../../packages/storage/test/small-volume.ts', import.meta.url).href
)

const failed = (code: string, path = '/srv/shop/.app/journal.json') =>
  asFailure(new Error('it failed', { cause: Object.assign(new Error(`${code}: raw words`), { code, path }) }))

t.test('errors of the operating system name the file, the reason and the next step', async (t) => {
  const expected = {
    ENOSPC: ['disk-full', 1],
    EDQUOT: ['disk-full', 1],
    SQLITE_FULL: ['disk-full', 1],
    EROFS: ['read-only', 1],
    SQLITE_READONLY_DIRECTORY: ['read-only', 1],
    EACCES: ['permission-denied', 1],
    EPERM: ['permission-denied', 1],
    EISDIR: ['not-a-file', 2],
    ENOTDIR: ['not-a-folder', 2],
    ENOTEMPTY: ['in-the-way', 2],
    EIO: ['disk-failed', 1],
    SQLITE_IOERR_READ: ['disk-failed', 1],
    SQLITE_NOTADB: ['file-unreadable', 2],
    EMFILE: ['too-many-files', 1],
    ENOENT: ['missing', 3],
  } as const
  for (const [system, [code, exitCode]] of Object.entries(expected)) {
    const failure = failed(system)
    t.match(failure, { code, exitCode }, system)
    t.match(failure.message, '/srv/shop/.app/journal.json', system)
    t.notMatch(failure.message, /raw words|E[A-Z]{4}/, system)
    t.match(failure.hint, /^[A-Z]/, system)
  }
  t.equal(asFailure(new Error('other')).code, 'unexpected')
})

/** What is put in the place of a file or folder, and the commands that say so. */
const cases: Record<string, readonly (readonly string[])[]> = {
  'app.config.json': [['config', 'get'], ['start', '--port', '0'], ['token', 'x'], ['audit']],
  '.app/secret': [['token', 'x'], ['start', '--port', '0'], ['init']],
  '.app/journal.json': [['module-install', 'x', '--dry-run']],
  'data/app.db': [['start', '--port', '0'], ['audit'], ['backup', '../x.tgz']],
}

for (const [file, calls] of Object.entries(cases)) {
  t.test(`a folder in place of ${file} is named, also by doctor`, async (t) => {
    const { directory, run } = await testApplication(t)
    const path = join(directory, file)
    await rm(path, { force: true })
    await mkdir(path)
    for (const call of calls) {
      const outcome = await run(...call)
      t.match(outcome, { exitCode: 2, json: { error: { code: 'not-a-file' } } }, call.join(' '))
      t.match(outcome.json.error.message, path)
    }
    const { exitCode, json } = await run('doctor')
    t.equal(exitCode, 1)
    t.match(json.findings.map(({ message }: { message: string }) => message).join(), path)
  })
}

for (const folder of ['.app', '.app/store', '.app/generations', '.app/audit']) {
  t.test(`a file in place of ${folder} is named before any change`, async (t) => {
    const { directory, run } = await testApplication(t)
    const path = join(directory, folder)
    await rm(path, { recursive: true, force: true })
    await writeFile(path, '')
    const message = `There is a file where a folder is needed: ${path}.`
    t.match(await run('module-install', 'api-cart'), {
      exitCode: 2,
      json: { error: { code: 'not-a-folder', message } },
    })
    t.match(await run('doctor'), { exitCode: 1, json: { findings: [{ id: 'folder-unusable', message }] } })
  })
}

t.test('on a full disk every command says so, and names the file', { skip }, async (t) => {
  const { directory } = await testApplication(t)
  const volume = smallVolume(t, 8)
  const full = join(volume.folder, 'shop')
  await cp(directory, full, { recursive: true })
  await rm(join(full, '.app', 'reserve'), { force: true })
  volume.fill()
  for (const call of [
    ['module-install', 'api-cart'],
    ['config', 'set', 'name', 'Shop'],
    ['backup', join(volume.folder, 'x.tgz')],
    ['module-new', '--dir', volume.folder, 'review'],
  ]) {
    const { exitCode, json } = await runApp('--dir', full, ...call, '--json')
    t.match({ exitCode, code: json.error.code }, { exitCode: 1, code: 'disk-full' }, call.join(' '))
    t.match(json.error.message, volume.folder)
  }
  t.equal(failed('SQLITE_IOERR_SHMSIZE', join(full, 'removed', 'data.db')).code, 'disk-full')
})

for (const text of ['', '{', 'nonsense', '{}', 'null', '[]']) {
  t.test(`a journal that is ${text || 'empty'} is named, and doctor --fix renames it`, async (t) => {
    const { directory, run } = await testApplication(t)
    const file = join(directory, '.app', 'journal.json')
    await writeFile(file, text)
    const refused = await run('module-disable', 'x')
    t.match(refused, { exitCode: 2, json: { error: { code: 'file-unreadable' } } })
    t.match(refused.json.error.message, file)
    t.notMatch(refused.json.error.message, /Unexpected/)
    t.equal((await run('backup', join(directory, '..', 'x.tgz'))).exitCode, 0, 'a backup is possible')
    t.match(await run('doctor'), { exitCode: 1, json: { findings: [{ id: 'file-unreadable' }] } })
    t.match(await run('doctor', '--fix'), { exitCode: 0, json: { findings: [{ fixed: true }] } })
    t.match(await run('doctor'), { exitCode: 0 })
    t.equal((await run('module-disable', 'x')).exitCode, 3, 'commands work again')
  })
}

t.test('an unreadable restore journal is refused and never renamed', async (t) => {
  const { directory, run } = await testApplication(t)
  const file = join(directory, '.app', 'restore.json')
  await writeFile(file, '{ "command": ')
  for (const call of [
    ['module-install', 'api-cart'],
    ['start', '--port', '0'],
    ['backup', '../x.tgz'],
  ]) {
    t.match(await run(...call), { exitCode: 2, json: { error: { code: 'file-unreadable' } } }, call.join(' '))
  }
  t.match(await run('doctor', '--fix'), {
    exitCode: 1,
    json: { findings: [{ id: 'file-unreadable', fixed: false, hint: /app restore/ }] },
  })
})
