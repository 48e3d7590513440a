import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile, writeLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import {
  respondVersion,
  sampleFiles,
  sampleFolder,
  sampleTarball,
} from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'

/** Another module under the same name and version. */
const other = { plugin: `${respondVersion('hello', '1.0.0')}; void 'other'` }

const integrityIn = async (directory: string) =>
  (await readLockFile(directory)).modules.hello?.integrity as string

/** An application with hello 1.0.0 of a file, its integrity, and a file with other bytes. */
async function installed(t: Test) {
  const application = await testApplication(t)
  const { root, directory, run } = application
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.equal((await run('module-install', '--yes', file)).exitCode, 0)
  const others = await sampleTarball(join(root, 'other.tgz'), other)
  return { ...application, file, others, integrity: await integrityIn(directory) }
}

/** What a refusal looks like: exit code 4 and both hashes, and nothing is changed. */
const refused = (integrity: string, where: RegExp) => ({
  exitCode: 4,
  json: {
    error: {
      code: 'integrity',
      message: new RegExp(`${where.source}.* Its integrity is sha512-\\S+, not ${literally(integrity)}\\.`),
      hint: /raise its version/,
    },
  },
})

const literally = (text: string) => text.replace(/[+/=]/g, '\\$&')

t.test('a file with other bytes of the installed version is refused by install and upgrade', async (t) => {
  const { directory, run, file, others, integrity } = await installed(t)
  const before = await readLockFile(directory)
  const here = refused(integrity, /@acme\/hello@1\.0\.0 in modules\.lock\.json/)
  t.match(await run('module-install', '--yes', others), here)
  t.match(await run('module-install', '--yes', others, '--dry-run'), here)
  await copyFile(others, file)
  t.match(await run('module-install', '--yes', file), here)
  t.match(await run('module-upgrade'), here)
  t.strictSame(await readLockFile(directory), before)
})

t.test('an installed version keeps its bytes, also after its removal', async (t) => {
  const { root, run, file, others, integrity } = await installed(t)
  t.equal(
    (await run('module-install', '--yes', await sampleTarball(join(root, '2.tgz'), { version: '2.0.0' })))
      .exitCode,
    0,
  )
  t.match(await run('module-install', '--yes', others), refused(integrity, /in generation 1/))
  t.equal((await run('module-remove', 'hello')).exitCode, 0)
  t.match(await run('module-install', '--yes', others), refused(integrity, /in generation 2|in generation 1/))
  t.equal((await run('module-install', '--yes', file)).exitCode, 0, 'its own bytes are welcome')
})

t.test('a registry that serves other bytes of a version is refused, by upgrade too', async (t) => {
  const { directory, run } = await testApplication(t)
  const publish = async (options: object) => {
    const { 'package.json': json = '', ...files } = sampleFiles(options)
    const { registry } = await fakeRegistry(t, [published(JSON.parse(json), files)])
    process.env.npm_config_registry = registry
  }
  await publish({})
  t.equal((await run('module-install', '--yes', '@acme/hello')).exitCode, 0)
  const here = refused(await integrityIn(directory), /in modules\.lock\.json/)
  await publish(other)
  t.match(await run('module-install', '--yes', '@acme/hello@1.0.0'), here)
  t.match(await run('module-upgrade'), here)
  await run('module-remove', 'hello')
  const removed = await run('module-install', '--yes', '@acme/hello')
  t.match(removed, { exitCode: 4, json: { error: { code: 'integrity', message: /generation 1/ } } })
})

t.test('a bundle with other bytes of a version is refused', async (t) => {
  const { root, run, others, integrity } = await installed(t)
  const staging = join(root, 'staging')
  const bundle = join(root, 'bundle.tgz')
  for (const words of [
    ['init', staging],
    ['module-install', '--yes', others, '--dir', staging],
  ])
    t.equal((await runApp(...words)).exitCode, 0)
  t.equal((await runApp('bundle', bundle, '--dir', staging)).exitCode, 0)
  t.match(await run('module-install', '--yes', bundle), refused(integrity, /in modules\.lock\.json/))
})

t.test('a pulled lock file or a backup with other bytes of a version is refused', async (t) => {
  const { root, directory, run, others, integrity } = await installed(t)
  const elsewhere = join(root, 'elsewhere')
  const backup = join(root, 'backup.tgz')
  for (const words of [
    ['init', elsewhere],
    ['module-install', '--yes', others, '--dir', elsewhere],
  ])
    t.equal((await runApp(...words)).exitCode, 0)
  t.equal((await runApp('backup', backup, '--dir', elsewhere)).exitCode, 0)
  const here = refused(integrity, /in generation 1/)
  t.match(await run('restore', backup), refused(integrity, /in (?:generation 1|modules\.lock\.json)/))

  const before = await readLockFile(directory)
  await writeLockFile(directory, await readLockFile(elsewhere))
  t.match(await run('module-install'), here)
  await writeLockFile(directory, before)
  t.match(await run('module-install'), { exitCode: 0, json: { unchanged: ['hello'] } })
})

t.test('an earlier version can be restored and rolled back to, whatever came later', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'mine'))
  await run('module-install', '--yes', folder)
  const first = await integrityIn(directory)
  const backup = join(root, 'backup.tgz')
  t.equal((await run('backup', backup)).exitCode, 0)
  await sampleFolder(folder, other)
  t.equal((await run('module-install', '--yes', folder)).exitCode, 0)
  t.equal((await run('module-rollback')).exitCode, 0)
  t.equal(await integrityIn(directory), first)
  t.equal((await run('module-rollback')).exitCode, 0)
  t.equal((await run('restore', backup)).exitCode, 0)
  t.equal(await integrityIn(directory), first)
})

t.test('the folder of an author may change without a new version, and the plan says so', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'mine'))
  await run('module-install', '--yes', folder)
  const first = await integrityIn(directory)
  await sampleFolder(folder, other)
  const again = await run('module-install', '--yes', folder)
  t.match(again, { exitCode: 0, json: { installed: [{ replaces: '1.0.0', replacesContent: first }] } })
  t.match(again.stderr, /asks for +other content than the previous 1\.0\.0: raise the version/)
  t.not(await integrityIn(directory), first)
  const second = await integrityIn(directory)
  t.match(
    await run('module-install', '--yes', await sampleTarball(join(root, 'third.tgz'), { plugin: 'void 3' })),
    refused(second, /in modules\.lock\.json/),
    'a file is no folder',
  )
})

t.test('a folder does not replace the same version from a registry', async (t) => {
  const { root, run, integrity } = await installed(t)
  const folder = await sampleFolder(join(root, 'mine'), other)
  t.match(await run('module-install', '--yes', folder), refused(integrity, /in modules\.lock\.json/))
  await sampleFolder(folder, { ...other, version: '1.0.1' })
  t.match(await run('module-install', '--yes', folder), {
    exitCode: 0,
    json: { installed: [{ version: '1.0.1', replacesContent: null }] },
  })
})

t.test('a dependency with other bytes of the same version is refused', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const word = (text: string) => published({ name: 'word', version: '1.0.0' }, { 'index.js': text })
  const depending = (version: string) =>
    sampleTarball(join(root, `${version}.tgz`), { version, json: { dependencies: { word: '1' } } })
  const serve = async (text: string) => {
    const { registry } = await fakeRegistry(t, [word(text)])
    process.env.npm_config_registry = registry
  }
  await serve('first')
  t.equal((await run('module-install', '--yes', await depending('1.0.0'))).exitCode, 0)
  await serve('other')
  await rm(join(root, 'npm-cache'), { recursive: true, force: true })
  t.match(await run('module-install', '--yes', await depending('1.1.0')), {
    exitCode: 4,
    json: { error: { code: 'integrity', message: /word@1\.0\.0 is refused.* not sha512-/ } },
  })
  await serve('first')
  t.equal((await run('module-install', '--yes', await depending('1.1.0'))).exitCode, 0)
  t.match((await readLockFile(directory)).modules.hello, { version: '1.1.0' })
})
