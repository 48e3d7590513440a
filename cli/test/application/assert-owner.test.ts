import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { assertOwner } from '@mortise/installer/locating'
import t from 'tap'
import { runApp, testApplication } from '../run-app.ts'

const unlessRoot = process.geteuid?.() !== 0 && 'only root can give files away'
const nobody = 65534

/** Each path below a folder, with its owner and when it was changed. */
async function traces(folder: string): Promise<string[]> {
  const names = ['.', ...(await readdir(folder, { recursive: true }))]
  const lines = names.map(async (name) => {
    const { uid, mode, mtimeMs, size } = await stat(join(folder, name))
    return [name, uid, mode, mtimeMs, size].join(' ')
  })
  return (await Promise.all(lines)).sort()
}

async function giveAway(folder: string): Promise<void> {
  for (const name of ['.', ...(await readdir(folder, { recursive: true }))]) {
    await chown(join(folder, name), nobody, nobody)
  }
}

const calls = [
  ['module-list'],
  ['module-install', 'api-cart'],
  ['module-install', 'api-cart', '--dry-run'],
  ['module-disable', 'api-cart'],
  ['module-rollback'],
  ['module-history'],
  ['module-info', 'api-cart'],
  ['config', 'get'],
  ['config', 'set', 'server.port', '3001'],
  ['start', '--port', '0'],
  ['restart'],
  ['doctor'],
  ['doctor', '--fix'],
  ['backup', 'x.tgz'],
  ['token', 'alice'],
  ['audit'],
  ['events'],
  ['openapi'],
]

t.test(
  'every command refuses root on the application of another user, and changes nothing',
  {
    skip: unlessRoot,
  },
  async (t) => {
    const { directory, run } = await testApplication(t)
    await giveAway(directory)
    const before = await traces(directory)
    for (const call of calls) {
      t.match(
        await run(...call),
        {
          exitCode: 4,
          json: { error: { code: 'not-owner', message: /another user \(65534\)/, hint: /setpriv/ } },
        },
        call.join(' '),
      )
    }
    t.match(await runApp('init', directory, '--json'), {
      exitCode: 4,
      json: { error: { code: 'not-owner' } },
    })
    t.strictSame(await traces(directory), before)
  },
)

t.test('init refuses a folder of another user', { skip: unlessRoot }, async (t) => {
  const folder = join(await realpath(t.testdir({})), 'theirs')
  await mkdir(folder)
  await chown(folder, nobody, nobody)
  t.match(await runApp('init', folder, '--json'), { exitCode: 4, json: { error: { code: 'not-owner' } } })
  t.strictSame(await readdir(folder), [])
})

t.test('commands refuse an application if another user owns .app', { skip: unlessRoot }, async (t) => {
  const { directory, run } = await testApplication(t)
  await chown(join(directory, '.app'), nobody, nobody)
  t.match(await run('doctor'), { exitCode: 4, json: { error: { message: /\.app belongs to/ } } })
})

t.test('a user without access to the folder learns its owner', { skip: unlessRoot }, async (t) => {
  const { directory } = await testApplication(t)
  await chmod(directory, 0o700)
  const check = `
    const { ownApplication } = await import(${JSON.stringify(new URL('../../../packages/installer/dist/application/find-application.js', import.meta.url).href)})
    process.setgroups([]); process.setgid(${nobody}); process.setuid(${nobody})
    try { ownApplication(${JSON.stringify(directory)}, '/') } catch (error) { console.log(error.code, error.exitCode) }`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', check], {
    encoding: 'utf8',
  })
  t.match(stdout, /^(not-owner 4|EACCES)/)
})

t.test('the owner can run commands', async (t) => {
  const { directory } = await testApplication(t)
  t.doesNotThrow(() => assertOwner(directory))
  const { uid } = await stat(directory)
  t.throws(() => assertOwner(directory, uid + 1), { code: 'not-owner', exitCode: 4 })
})
