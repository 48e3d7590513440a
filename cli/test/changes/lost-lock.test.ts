import { existsSync } from 'node:fs'
import { readdir, readFile, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFilePath, storeDirectory } from '@mortise/application'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { copiesOf, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const withHello = copiesOf(async ({ root, run }) => {
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const { exitCode, stdout } = await run('module-install', '--yes', file)
  if (exitCode !== 0) throw new Error(stdout)
})

/** What nothing may change: records, packages, snapshots, and the lock, there or not. */
async function kept(directory: string) {
  const lock = await readFile(lockFilePath(directory), 'utf8').catch(() => undefined)
  const names = await readdir(join(directory, '.app'), { recursive: true })
  return { lock, names: names.filter((name) => !/lock|\.staging/.test(name)).sort() }
}

const refusing = [
  ['module-install'],
  ['module-install', 'api-cart'],
  ['module-remove', 'hello'],
  ['module-upgrade'],
  ['module-rollback'],
  ['module-enable', 'hello'],
  ['module-disable', 'hello'],
  ['module-list'],
  ['module-history'],
  ['config', 'set', 'hello.a', '1'],
  ['backup', 'x.tgz'],
  ['bundle', 'x.tgz'],
  ['start', '--port', '0'],
  ['openapi'],
  ['init'],
]

for (const [what, lose] of [
  ['missing', (file: string) => rm(file)],
  ['truncated', (file: string) => truncate(file, 40)],
] as const) {
  t.test(`every command refuses a lock file that is ${what}, and changes nothing`, async (t) => {
    const { directory, run } = await withHello(t)
    await lose(lockFilePath(directory))
    const before = await kept(directory)
    for (const words of refusing) {
      const { exitCode, json } = await run(...words)
      t.match({ exitCode, code: json.error.code }, { exitCode: 2, code: 'lock-lost' }, words.join(' '))
      t.match(json.error.hint, /doctor --fix.*generation 1/)
    }
    t.strictSame(await kept(directory), before)
  })

  t.test(`doctor restores a lock file that is ${what}, byte for byte`, async (t) => {
    const { directory, run } = await withHello(t)
    const previous = await readFile(lockFilePath(directory), 'utf8')
    await lose(lockFilePath(directory))
    t.equal((await run('doctor', '--fix')).exitCode, 0)
    t.equal(await readFile(lockFilePath(directory), 'utf8'), previous)
    t.equal((await get(await runningHost(t, directory), '/hello')).status, 200)
  })
}

t.test('an application without modules has an empty lock file', async (t) => {
  const { directory, run } = await testApplication(t)
  t.match(JSON.parse(await readFile(lockFilePath(directory), 'utf8')), { generation: 0, modules: {} })
  await rm(lockFilePath(directory))
  t.equal((await run('module-list')).exitCode, 2)
  t.equal((await run('init')).exitCode, 0, 'nothing was ever installed, so there is nothing to lose')
  t.equal((await run('module-list')).exitCode, 0)
})

t.test('packages and snapshots stay while the record of a generation is missing', async (t) => {
  const { directory, run } = await withHello(t)
  await rm(join(directory, '.app', 'generations', '0.json'))
  const [stored] = (await readdir(storeDirectory(directory))).filter((name) => name.includes('hello'))
  t.equal((await run('module-remove', 'hello')).exitCode, 0)
  t.ok(existsSync(join(storeDirectory(directory), stored as string)))
})

t.test('a running host continues to serve when its lock file is lost', async (t: Test) => {
  const { directory, run } = await withHello(t)
  const host = await runningHost(t, directory)
  await rm(lockFilePath(directory))
  t.equal((await run('module-remove', 'hello')).exitCode, 2)
  t.equal((await get(host, '/hello')).status, 200)
  t.equal((await run('doctor', '--fix')).exitCode, 0)
  t.equal((await run('module-list')).json.modules[0].state, 'active')
})
