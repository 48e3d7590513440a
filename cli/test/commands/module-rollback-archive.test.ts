import { randomInt } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig, readLockFile } from '@mortise/application'
import { runWithoutHost } from '@mortise/host'
import { Application } from '@mortise/host/serving'
import { readFileContents } from '@mortise/storage'
import t, { type Test } from 'tap'
import { killBefore } from '../kill-before.ts'
import { versionsOfNote } from '../note-versions.ts'
import { copiesOf, runApp, runOnTerminal } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

// A process for each moment. Every other one is enough here: `npm run verify -- kill` tries system calls.
t.setTimeout(600_000)

const archivesIn = (directory: string) => {
  const folder = join(directory, '.app', 'undone')
  return existsSync(folder) ? readdirSync(folder) : []
}

async function hasColour(directory: string): Promise<boolean> {
  return /colour/.test((await runWithoutHost(directory, 'schema')).statements.join())
}

async function count(directory: string): Promise<number | undefined> {
  const { databaseFile = '' } = await readConfig(directory)
  return readFileContents(databaseFile).rows.note
}

const post = (url: string) => fetch(`${url}/note`, { method: 'POST' })

/** Version 2, which can be undone, with three notes. */
const upgraded = copiesOf(async (application) => {
  const { directory, run } = application
  const { v1, v2 } = await versionsOfNote(application, 'ALTER TABLE note DROP COLUMN colour')
  await run('module-install', '--yes', v1)
  await run('module-install', '--yes', v2)
  const host = await Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })
  for (let time = 0; time < 3; time++) await post(host.url)
  await host.close()
})

/** The command that an output names, as words for `app`. */
function restoreIn(text: string): string[] {
  return /: app (restore .*)$/m.exec(text)?.[1]?.split(' ') ?? []
}

/** Runs the command that brings back what was dropped, and looks. */
async function assertBack(t: Test, directory: string, words: string[]): Promise<void> {
  t.match(await runApp(...words), { exitCode: 0 }, words.join(' '))
  t.ok(await hasColour(directory))
  t.equal(await count(directory), 3)
  t.equal((await readLockFile(directory)).modules.note?.version, '2.0.0')
}

t.test('the plan shows dropped data with row counts; a dry run changes nothing', async (t) => {
  const { directory, run } = await upgraded(t)
  const plan = {
    changes: ['~ note 2.0.0 → 1.0.0'],
    undo: ['note/002-colour'],
    drops: [{ table: 'note', column: 'colour', rows: 3 }],
  }
  const expected = { dryRun: true, generation: 2, to: 1, plan, undone: [], archive: null, restore: null }
  t.match(await run('module-rollback', '--dry-run'), { exitCode: 0, json: expected })
  const said = await runApp('module-rollback', '--dry-run', '--dir', directory)
  t.match(said.stdout, /undoes the migration note\/002-colour\n {2}drops the column note\.colour \(3 rows\)/)
  t.equal((await readLockFile(directory)).generation, 2)
  t.ok(await hasColour(directory))
  t.strictSame(archivesIn(directory), [])
  t.match(
    await run('module-rollback', '0', '--dry-run'),
    { json: { plan: { undo: [], drops: [] } } },
    'data of a module that goes stay',
  )
  t.match(await run('module-rollback', '2', '--dry-run'), { json: { plan: { changes: [] } } })
})

t.test('a dry run downloads nothing', async (t) => {
  const { directory, run } = await upgraded(t)
  await rm(join(directory, '.app', 'store'), { recursive: true })
  t.match(await run('module-rollback', '--dry-run'), {
    exitCode: 4,
    json: { error: { code: 'store-incomplete', message: /generation 1 .*: note/ } },
  })
})

t.test('the printed command restores the rows, also without a terminal and --yes', async (t) => {
  const { directory } = await upgraded(t)
  const done = await runApp('module-rollback', '--dir', directory)
  t.equal(done.exitCode, 0)
  t.match(done.stderr, /drops the column note\.colour \(3 rows\)/, 'it is said before')
  t.notOk(await hasColour(directory))
  await assertBack(t, directory, restoreIn(done.stdout))
})

t.test('an archive stays after any number of generations and is not a leftover', async (t) => {
  const { directory, run } = await upgraded(t)
  const { json } = await run('module-rollback')
  t.match(json, { undone: ['note/002-colour'], archive: '.app/undone/2.tgz' })
  for (const command of ['disable', 'enable', 'disable', 'enable', 'disable', 'enable'])
    t.equal((await run(`module-${command}`, 'note')).exitCode, 0)
  t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
  t.equal((await run('doctor', '--fix')).exitCode, 0)
  t.equal((await run('module-rollback', '2')).exitCode, 0)
  t.match(await run('module-rollback', '1'), { json: { archive: '.app/undone/10.tgz' } })
  t.match((await run('restore', join(directory, json.archive))).exitCode, 0)
  t.ok(await hasColour(directory))
})

t.test('a running host fails no write, and the archive has its database', async (t) => {
  const { directory, run } = await upgraded(t)
  const host = await runningHost(t, directory)
  let isOver = false
  let written = 0
  const writing = (async () => {
    while (!isOver) {
      t.equal((await post(host.url)).status, 200)
      written += 1
    }
  })()
  const done = await run('module-rollback')
  isOver = true
  await writing
  t.match(done, { exitCode: 0, json: { live: true, undone: ['note/002-colour'] } })
  t.equal((await get(host, '/note')).body.notes.length, 3 + written)
  await host.close()
  t.match(await runApp(...done.json.restore.split(' ').slice(1)), { exitCode: 0 })
  t.ok(await hasColour(directory))
  t.ok(Number(await count(directory)) >= 3)
})

t.test('on a terminal it asks; the reply no changes nothing', async (t) => {
  const { directory } = await upgraded(t)
  for (const [reply, exitCode, generation] of [
    ['n', 4, 2],
    ['y', 0, 3],
  ] as const) {
    const asked = await runOnTerminal(reply, 'module-rollback', '--dir', directory)
    t.match(asked, { exitCode, said: /note\.colour \(3 rows\).*Undo that\? \[y\/N\]/s })
    t.equal(/Nothing was changed/.test(asked.said), reply === 'n')
    t.equal((await readLockFile(directory)).generation, generation)
    t.equal(await hasColour(directory), reply === 'n')
  }
  const asked = await runOnTerminal('n', 'module-rollback', '0', '--dir', directory)
  t.match(asked, { exitCode: 0 }, 'where nothing is dropped it does not ask')
  t.notMatch(asked.said, /\[y\/N\]/)
})

t.test('--yes skips the question', async (t) => {
  const { directory } = await upgraded(t)
  const asked = await runOnTerminal('n', 'module-rollback', '--yes', '--dir', directory)
  t.equal(asked.exitCode, 0)
  t.notMatch(asked.said, /\[y\/N\]/)
})

t.test('if the archive cannot be written, nothing changes', async (t) => {
  const { directory, run } = await upgraded(t)
  await writeFile(join(directory, '.app', 'undone'), '')
  t.match(await run('module-rollback'), {
    exitCode: 4,
    json: { error: { code: 'archive-failed', message: /\.app\/undone/, hint: /^Nothing was changed/ } },
  })
  t.equal((await readLockFile(directory)).generation, 2)
  t.ok(await hasColour(directory))
})

t.test(
  'if the archive fails after the switch, the schema stays, and the next command continues',
  async (t) => {
    const { directory, run } = await upgraded(t)
    const folder = join(directory, '.app', 'undone')
    const host = await runningHost(t, directory)
    // Something has come in the way since it was looked at.
    const activated = afterSwitch(host, async () => {
      await rm(folder, { recursive: true })
      await writeFile(folder, '')
    })
    t.match(await run('module-rollback'), { exitCode: 1, json: { error: { code: 'undo-failed' } } })
    t.ok(activated())
    t.match((await get(host, '/note')).body, { version: '1.0.0', notes: { length: 3 } })
    await rm(folder)
    await mkdir(folder)
    const next = await run('module-install')
    t.match(next, {
      exitCode: 0,
      stderr: /Completed "module-rollback".*\n.*app restore .*\.app\/undone\/2\.tgz/,
    })
    await host.close()
    t.notOk(await hasColour(directory))
  },
)

t.test('after kill -9 at any moment, the state is as before or after, and no row is lost', async (t) => {
  const { root, directory, run } = await upgraded(t)
  const saved = join(root, 'saved')
  await cp(directory, saved, { recursive: true })
  let archived = 0
  let ended: unknown = 'SIGKILL'
  for (let moment = 1 + randomInt(2); ended === 'SIGKILL'; moment += 2) {
    await rm(directory, { recursive: true })
    await cp(saved, directory, { recursive: true })
    ended = await startApp(t, ['module-rollback', '--dir', directory], killBefore(moment)).ended
    if (!(await hasColour(directory))) t.not(archivesIn(directory).length, 0, `killed before ${moment}`)
    const next = await run('module-install')
    t.equal(next.exitCode, 0, next.stdout)
    const isBack = (await readLockFile(directory)).generation === 3
    t.equal(await hasColour(directory), !isBack, `killed before ${moment}`)
    t.equal(await count(directory), 3)
    t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
    if (!isBack) continue
    archived += 1
    const newest = archivesIn(directory)
      .sort((one, other) => one.length - other.length)
      .at(-1)
    await assertBack(t, directory, [
      'restore',
      join(directory, '.app/undone', newest ?? ''),
      '--dir',
      directory,
    ])
  }
  t.equal(ended, 0)
  t.ok(archived >= 2, `${archived} had been committed`)
})

/** Does `work` when the host has taken up another generation. */
function afterSwitch(host: Application, work: () => Promise<void>): () => boolean {
  const { installed } = host as unknown as { installed: { retired(): Promise<void> } }
  const real = installed.retired.bind(installed)
  let isDone = false
  installed.retired = async () => {
    await real()
    if (isDone) return
    isDone = true
    await work()
  }
  return () => isDone
}
