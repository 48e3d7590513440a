import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFilePath } from '@mortise/application'
import { readJournal } from '@mortise/installer/changes'
import { readFileContents } from '@mortise/storage'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { checkOut, commits, frozen, lockText, type Place, production, snapshot } from '../deployed-by-git.ts'
import { runApp } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

/** A host in this process, or none: `version` is what it serves of `note`. */
async function host(t: Test, { directory }: Place, isRunning: boolean) {
  const running = isRunning ? await runningHost(t, directory) : undefined
  return {
    write: async () => running && (await fetch(`${running.url}/note`, { method: 'POST' })),
    async serves(version: string) {
      if (running) t.match(await get(running, '/note'), { status: 200, body: { version } })
    },
    async lacks(path: string) {
      if (running) t.equal((await get(running, path)).status, 404)
    },
  }
}

for (const isRunning of [true, false]) {
  t.test(
    `a commit can be deployed, and the previous one again, ${isRunning ? 'with' : 'without'} a host`,
    async (t) => {
      const application = await production(t)
      const { run } = application
      const { write, serves, lacks } = await host(t, application, isRunning)
      await write()

      const next = await checkOut(application, 'v2')
      t.match(await run(...frozen, '--dry-run'), {
        exitCode: 0,
        stderr: /note 1\.0\.0 → 2\.0\.0/,
        json: { installed: [{ id: 'note', replaces: '1.0.0' }] },
      })
      await serves('1.0.0')
      t.match(await run(...frozen), {
        exitCode: 0,
        stderr: /note 2\.0\.0 \(instead of 1\.0\.0\)/,
        json: {
          generation: 2,
          live: isRunning,
          migrations: ['note/002-colour'],
          installed: [{ id: 'note' }],
        },
      })
      t.equal(await lockText(application), next)
      await serves('2.0.0')
      t.match(readFileContents(snapshot(application, 1)), { rows: { note: isRunning ? 1 : 0 } })
      t.match((await run('module-history')).json, {
        generation: 2,
        generations: [
          { generation: 0 },
          { generation: 1, changes: ['+ note 1.0.0'], present: false },
          { generation: 2, command: 'module-install', changes: ['~ note 1.0.0 → 2.0.0'], present: true },
        ],
      })
      t.match((await run('audit', '--limit', '1')).json.records, [
        { action: 'module-install', object: 'note', outcome: 'done', details: { generation: 2 } },
      ])
      t.match(await run(...frozen), {
        exitCode: 0,
        json: { generation: 2, installed: [], unchanged: ['note'] },
      })
      t.equal(await lockText(application), next)

      const previous = await checkOut(application, 'v1')
      t.match(await run(...frozen), { exitCode: 0, json: { generation: 3, live: isRunning, migrations: [] } })
      t.equal(await lockText(application), previous)
      await serves('1.0.0')
      t.match((await run('module-list')).json, { generation: 3, modules: [{ version: '1.0.0' }] })
      t.match((await run('module-history')).json.generations.slice(1), [
        { generation: 1, changes: ['+ note 1.0.0'] },
        { generation: 2, changes: ['~ note 1.0.0 → 2.0.0'] },
        { generation: 3, changes: ['~ note 2.0.0 → 1.0.0'], present: true },
      ])

      t.match(await run('module-rollback'), { exitCode: 0, json: { to: 2, generation: 4, live: isRunning } })
      await serves('2.0.0')
      t.match(JSON.parse(await lockText(application)), { generation: 4 })
      t.match(await run('module-rollback', '1'), {
        exitCode: 0,
        json: { to: 1, generation: 5, undone: ['note/002-colour'] },
      })
      await serves('1.0.0')

      await checkOut(application, 'other')
      t.match(await run('module-install'), { exitCode: 0, json: { generation: 6, live: isRunning } })
      await serves('2.0.0')
      await checkOut(application, 'v2')
      t.match(await run('module-install'), { exitCode: 0, json: { generation: 7, live: isRunning } })
      await lacks('/other')
      t.match(await run('doctor'), { exitCode: 0, json: { findings: [] } })
    },
  )
}

t.test('an external lock file is reported and blocks other changes', async (t) => {
  const application = await production(t)
  const { root, directory, run } = application
  const running = await runningHost(t, directory)
  const text = await checkOut(application, 'v2')
  for (const command of [
    ['module-disable', 'note'],
    ['module-remove', 'note'],
    ['module-upgrade'],
    ['module-install', '--yes', join(root, 'other.tgz')],
    ['restart'],
  ]) {
    t.match(
      await run(...command),
      { exitCode: 4, json: { error: { code: 'lock-changed', hint: /module-install/ } } },
      command.join(' '),
    )
  }
  t.match(await run('doctor', '--fix'), {
    exitCode: 1,
    json: {
      findings: [
        { id: 'lock-changed', fixed: false },
        { id: 'package-missing', fixed: true },
      ],
    },
  })
  t.match(await get(running, '/note'), { body: { version: '1.0.0' } }, 'its migrations wait for a command')
  t.match(
    (await runApp('module-history', '--dir', directory)).stdout,
    /not applied: ~ note 1\.0\.0 → 2\.0\.0/,
  )
  t.equal(await lockText(application), text)
  t.match(await run('module-rollback'), { exitCode: 0, json: { to: 1, live: true } })
  t.match(await get(running, '/note'), { body: { version: '1.0.0' } })
})

t.test('if the host cannot apply an external lock file, it stays, and so does the generation', async (t) => {
  const application = await production(t)
  const { root, directory, run } = application
  const running = await runningHost(t, directory)
  process.env.MORTISE_TEST_FAIL = '1'
  t.teardown(() => delete process.env.MORTISE_TEST_FAIL)
  // Passes the probe, whose environment is empty, and fails in the host.
  const plugin = `if (process.env.MORTISE_TEST_FAIL) throw new Error('not here'); app.get('/b', { config: { access: 'public' } }, async () => ({}))`
  const staging = join(root, 'staging')
  await runApp(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'b.tgz'), { id: 'b', plugin }),
    '--dir',
    staging,
  )
  await writeFile(commits(root, 'other'), await readFile(lockFilePath(staging)))
  const text = await checkOut(application, 'other')
  t.match(await run(...frozen), {
    exitCode: 5,
    json: {
      error: { code: 'activation-failed', message: /not here.*Generation 1 stays/, hint: /next start/ },
    },
  })
  t.equal(await lockText(application), text)
  t.match(await get(running, '/note'), { body: { version: '1.0.0' } })
  t.match((await run('module-history')).json, { generation: 1 })
  t.match((await run('audit', '--limit', '1')).json.records, [{ outcome: 'reverted' }])
  t.match(await run('module-rollback'), { exitCode: 0, json: { to: 1, live: true } })
})

t.test('a refused commit changes nothing', async (t) => {
  const application = await production(t)
  const { root, directory, run } = application
  const text = await checkOut(application, 'v2')
  await sampleTarball(join(root, 'note-2.0.0.tgz'), { id: 'note', version: '2.0.0', plugin: 'throw 1' })
  t.match(await run(...frozen), {
    exitCode: 4,
    json: {
      error: { code: 'integrity', message: /Generation 1 stays the current one/, hint: /git checkout/ },
    },
  })
  await rm(join(root, 'note-2.0.0.tgz'))
  t.match(await run(...frozen), { exitCode: 3, json: { error: { code: 'no-such-file' } } })
  t.equal(await lockText(application), text)
  t.notOk(existsSync(snapshot(application, 1)))
  t.match((await run('module-history')).json, { generation: 1 })
  t.equal(await readJournal(directory), undefined)
})

t.test('a start with an external lock file takes a snapshot and records the change', async (t) => {
  const application = await production(t)
  const { directory, run } = application
  const text = await checkOut(application, 'v2')
  const started = startApp(t, ['start', '--port', '0', '--dir', directory, '--json'])
  await started.says(/"url"/)
  const { url, modules } = JSON.parse(started.stdout)
  t.match(modules, [{ id: 'note', version: '2.0.0', state: 'active' }])
  t.equal((await fetch(`${url}/note`)).status, 200)
  t.ok(existsSync(snapshot(application, 1)))
  t.match((await run('module-history')).json.generations.at(-1), { generation: 2, command: 'start' })
  t.equal(await lockText(application), text)
  t.match(await run('module-rollback'), {
    exitCode: 0,
    json: { to: 1, undone: ['note/002-colour'], live: true },
  })
})
