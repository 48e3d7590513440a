import { createHash } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t from 'tap'
import { commands } from '../../src/commands/index.ts'
import { packRelease } from '../host-release.ts'
import { killBeforeNaming } from '../kill-before.ts'
import { testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { sampleFolder, sampleTarball } from '../sample-module.ts'

/**
 * All that is in a folder: names, modes, and of files what they hold and when they were written. The lock of the
 * command, `.app/lock`, is aside: whoever looks at an application holds it too, so that nothing changes meanwhile.
 */
async function snapshotOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort()
  const lines = paths.map(async (path) => {
    const { mode, mtimeMs } = await stat(path)
    const isFile = (await stat(path)).isFile()
    const hash = isFile
      ? createHash('sha256')
          .update(await readFile(path))
          .digest('hex')
      : ''
    return `${relative(directory, path)} ${mode.toString(8)} ${isFile ? mtimeMs : ''} ${hash}`
  })
  return (await Promise.all(lines)).filter((line) => !line.startsWith(join('.app', 'lock')))
}

const dry: Record<string, readonly (readonly string[])[]> = {
  'module-install': [[], ['<other>'], ['<tarball>', 'mine'], ['mine', '--frozen']],
  'module-upgrade': [[], ['mine']],
  'host-upgrade': [['1.1.0']],
  'module-rollback': [[], ['0'], ['1'], ['0', '--restore-snapshot']],
}

t.test('this file tries every command with --dry-run', async (t) => {
  const having: string[] = []
  for (const { name, load } of commands) {
    if ((await load()).options?.some(([flags]) => flags === '--dry-run')) having.push(name)
  }
  t.strictSame(having.sort(), Object.keys(dry).sort())
})

t.test('a dry run does not change a byte of the application', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const other = await sampleFolder(join(root, 'other'), { id: 'other' })
  const tarball = await sampleTarball(join(root, 'third.tgz'), { id: 'third' })
  const specs: Record<string, string> = { '<other>': other, '<tarball>': tarball }
  await packRelease(join(root, 'packages'), '1.1.0')
  await writeFile(join(directory, '.npmrc'), '@mortise:registry=file:../packages\n')
  const fresh = await snapshotOf(directory)
  t.match(await run('module-install', other, '--dry-run'), {
    exitCode: 0,
    json: { installed: [{ id: 'other' }] },
  })
  t.strictSame(await snapshotOf(directory), fresh, 'one that nothing was ever installed in')

  const mine = await sampleFolder(join(root, 'mine'), { id: 'mine' })
  await run('module-install', mine, await sampleTarball(join(root, 'gone.tgz'), { id: 'gone' }))
  await sampleFolder(mine, { id: 'mine', version: '1.1.0' })
  const before = await snapshotOf(directory)
  for (const [command, calls] of Object.entries(dry)) {
    for (const words of calls) {
      const { exitCode, json } = await run(command, ...words.map((word) => specs[word] ?? word), '--dry-run')
      t.match(
        { exitCode, json },
        { exitCode: 0, json: { dryRun: true, generation: 1 } },
        `${command} ${words}`,
      )
      t.strictSame(await snapshotOf(directory), before, `${command} ${words.join(' ')}`)
    }
  }
  const store = join(directory, '.app', 'store')
  for (const name of await readdir(store)) {
    if (name.includes('gone')) await rm(join(store, name), { recursive: true })
  }
  const incomplete = await snapshotOf(directory)
  t.match(await run('module-install', '--dry-run'), { json: { restored: ['gone'], unchanged: ['mine'] } })
  t.strictSame(await snapshotOf(directory), incomplete, 'what is missing is named, not fetched')
  t.match(await run('module-install'), { exitCode: 0, json: { restored: ['gone'] } })
  t.match(await run('module-install', '--dry-run'), { json: { restored: [], unchanged: ['mine', 'gone'] } })
})

t.test('a dry run does not complete a killed change, and says so', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const nodeOptions = killBeforeNaming(join(directory, 'modules.lock.json'))
  await startApp(t, ['module-install', file, '--dir', directory], nodeOptions).ended
  const before = await snapshotOf(directory)
  t.match(await run('module-install', '--dry-run'), {
    exitCode: 4,
    json: { error: { code: 'interrupted', hint: /doctor --fix/ } },
  })
  t.strictSame(await snapshotOf(directory), before)
  t.equal((await run('doctor', '--fix')).exitCode, 0)
  t.match(await run('module-install', '--dry-run'), { exitCode: 0, json: { unchanged: ['hello'] } })
})
