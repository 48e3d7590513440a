import { readFileSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig, readLockFile } from '@mortise/application'
import { readFileContents } from '@mortise/storage'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { noteVersions } from '../note-versions.ts'
import { skip, temporarySchema } from '../postgres-schema.ts'
import { runApp, runOnTerminal } from '../run-app.ts'

// Several commands a test, on a machine that may be busy.
t.setTimeout(300_000)

const DOWN = 'ALTER TABLE note DROP COLUMN colour'

async function migrationsIn(directory: string): Promise<string[]> {
  const { databaseFile = '' } = await readConfig(directory)
  return readFileContents(databaseFile).ledger.flatMap(({ module, name }) =>
    module === 'note' ? [name] : [],
  )
}

/** Versions 1 and 2 were installed, and `note` names a registry's package, whose newest is version 1. */
async function removed(t: Test) {
  const application = await noteVersions(t, DOWN, 'v1', 'v2')
  const { directory, run } = application
  // What the name alone stands for: an npm package of a folder of tarballs.
  await writeFile(join(directory, '.npmrc'), '@acme:registry=file:../packages\n')
  const config = JSON.parse(readFileSync(join(directory, 'app.config.json'), 'utf8'))
  config.aliases = { note: '@acme/note' }
  await writeFile(join(directory, 'app.config.json'), JSON.stringify(config))
  await mkdir(join(application.root, 'packages'))
  await copyFile(application.v1, join(application.root, 'packages', 'note-1.0.0.tgz'))
  t.match(await run('module-remove', 'note'), { exitCode: 0 })
  return application
}

/** Takes version 2 away: from the store, and where it came from. */
async function withoutVersion2({ directory, v2 }: Awaited<ReturnType<typeof removed>>) {
  const store = join(directory, '.app', 'store')
  for (const name of await readdir(store))
    if (name.includes('note@2') || name.includes('note-2')) await rm(join(store, name), { recursive: true })
  await rename(v2, `${v2}.away`)
}

t.test('a name alone stands for the newest version whose migrations are in the database', async (t) => {
  const application = await removed(t)
  const { directory, run } = application
  t.match(await run('module-install', 'note'), {
    exitCode: 0,
    json: { installed: [{ id: 'note', version: '2.0.0', downgradeFrom: null }] },
  })
  t.equal((await readLockFile(directory)).modules.note?.version, '2.0.0')
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
})

t.test('where it is not available, a downgrade is reported and asked, and refused in a script', async (t) => {
  const application = await removed(t)
  const { directory, run } = application
  await withoutVersion2(application)
  const before = await readLockFile(directory)
  const refused = await run('module-install', 'note')
  t.match(refused, {
    exitCode: 4,
    json: {
      error: { code: 'downgrade', message: /note 1\.0\.0.*2\.0\.0/, hint: /note-2\.0\.0\.tgz.*--yes/ },
    },
  })
  t.match(refused.stderr, /a downgrade: 2\.0\.0 was installed here/, 'the plan shows it')
  const asked = /note 1\.0\.0 is older than 2\.0\.0.*\[y\/N\]/s
  const words = ['module-install', 'note', '--dir', directory]
  t.match(await runOnTerminal('n', ...words), { exitCode: 4, said: asked })
  t.strictSame(await readLockFile(directory), before)
  t.match(await run('module-install', 'note', '--dry-run'), {
    exitCode: 0,
    json: { installed: [{ version: '1.0.0', downgradeFrom: '2.0.0' }] },
  })
  t.match(await run('module-install', 'note', '--yes'), { exitCode: 0 })
  t.equal((await readLockFile(directory)).modules.note?.version, '1.0.0')
})

t.test('an older version that the operator names is reported, and asked about on a terminal', async (t) => {
  const { directory, run, v1 } = await noteVersions(t, DOWN, 'v1', 'v2')
  await run('module-remove', 'note')
  const words = ['module-install', v1, '--dir', directory]
  t.match(await runOnTerminal('n', ...words), { exitCode: 4, said: /note 1\.0\.0 is older than 2\.0\.0/ })
  t.match(await run('module-install', v1), {
    exitCode: 0,
    json: { installed: [{ version: '1.0.0', replaces: null, downgradeFrom: '2.0.0' }] },
  })
})

t.test('a rollback undoes no migration that was there before the change', async (t) => {
  const { root, directory, run, v1 } = await noteVersions(t, DOWN, 'v1', 'v2')
  await run('module-install', '--yes', v1)
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'other' })
  await run('module-install', '--yes', other)
  await run('module-remove', 'other')
  t.match(await run('module-rollback'), { exitCode: 0, json: { undone: [], plan: { undo: [] } } })
  t.strictSame(await migrationsIn(directory), ['001-note', '002-colour'])
  t.match(await run('module-rollback', '1'), { exitCode: 0, json: { undone: ['note/002-colour'] } })
})

t.test('the move to PostgreSQL names the version to install', { skip }, async (t) => {
  const { directory, run, v1, v2 } = await noteVersions(t, DOWN, 'v1', 'v2')
  await run('module-remove', 'note')
  await run('module-install', '--yes', v1)
  for (const command of ['disable', 'enable', 'disable', 'enable', 'disable', 'enable'])
    await run(`module-${command}`, 'note')
  const { url } = await temporarySchema(t)
  const refused = await run('migrate-data', '--to', url)
  t.match(refused, { exitCode: 4, json: { error: { hint: `app module-install ${v2}` } } })
  t.notMatch(refused.stdout, /purge/)
  t.match(await runApp('module-install', '--yes', v2, '--dir', directory), { exitCode: 0 })
  t.match(await run('migrate-data', '--to', url), { exitCode: 0, json: { moved: true } })
})
