import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { callRunningHost, runWithoutHost } from '@mortise/host'
import type { DatabaseSchema } from '@mortise/storage'
import t, { type Test } from 'tap'
import { type SampleOptions, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const base = { 'migrations/001-note.sql': 'CREATE TABLE note (body TEXT)' }
const rename = { 'migrations/002-text.sql': 'ALTER TABLE note RENAME COLUMN body TO text' }
const expand = { 'migrations/002-more.sql': 'ALTER TABLE note ADD COLUMN more TEXT' }

/** A module whose one GET runs `query`. */
const note = (
  version: string,
  query: string,
  files: Readonly<Record<string, string>>,
  more: SampleOptions = {},
): SampleOptions => ({
  id: 'note',
  version,
  manifest: { tables: 'note', migrations: 'migrations', routes: ['GET /note'] },
  files: { ...base, ...files },
  main: `import { defineModule, sql } from '@mortise/module-sdk'
    export default defineModule('note').plugin(async (app, { database }) => {
      app.get('/note', { config: { access: 'note:read' } }, async () => ({ data: await database.many(sql\`${query}\`) }))
    })`,
  ...more,
})

/** Everything that an upgrade may change. */
async function stateOf(directory: string) {
  const schema = await callRunningHost(directory, 'schema')
  return {
    lock: await readFile(join(directory, 'modules.lock.json'), 'utf8'),
    schema: schema ?? (await runWithoutHost(directory, 'schema')),
    // A running host has part of it in memory and in its log.
    data: schema ? undefined : await readFile(join(directory, 'data', 'app.db'), 'base64'),
    store: (await readdir(join(directory, '.app', 'store'))).sort(),
    generations: await readdir(join(directory, '.app', 'generations')),
  }
}

/** How many migrations of the module are applied. */
async function applied(directory: string): Promise<number> {
  const { ledger } = (await stateOf(directory)).schema as DatabaseSchema
  return ledger.filter(({ module }) => module === 'note').length
}

async function applicationWith(t: Test, options: SampleOptions) {
  const { root, directory, run } = await testApplication(t)
  let count = 0
  const install = async (module: SampleOptions, ...more: string[]) => {
    count += 1
    return await run(
      'module-install',
      '--yes',
      await sampleTarball(join(root, `${count}.tgz`), module),
      ...more,
    )
  }
  t.match(await install(options), { exitCode: 0 })
  return { root, directory, run, install }
}

const reader = 'SELECT body FROM note'

t.test(
  'a migration that drops what the previous version reads is refused, and nothing changes',
  async (t) => {
    const { directory, install } = await applicationWith(t, note('1.0.0', reader, {}))
    for (const state of ['stopped', 'running']) {
      const running = state === 'running' ? await runningHost(t, directory) : undefined
      const before = await stateOf(directory)
      const next = note('2.0.0', 'SELECT text FROM note', rename)
      const outcome = await install(next)
      t.match(
        outcome,
        {
          exitCode: 4,
          json: {
            error: {
              code: 'breaks-previous',
              message:
                /note to 2\.0\.0 .* version 1\.0\.0 fails on .*: its route GET \/note responds with 500 .*: .*no such column: body/,
              hint: /what 1\.0\.0 uses/,
            },
          },
        },
        state,
      )
      t.notMatch(outcome.json.error.message, /\n|\.staging-/)
      t.strictSame((await install(next, '--dry-run')).json, outcome.json, 'a dry run finds it too')
      t.strictSame(await stateOf(directory), before)
      if (running) t.match(await get(running, '/note'), { status: 401 })
    }
  },
)

t.test('a migration that only adds is accepted, and so is a later one that drops', async (t) => {
  const { directory, install } = await applicationWith(t, note('1.0.0', reader, {}))
  t.match(await install(note('1.1.0', 'SELECT more FROM note', expand)), {
    exitCode: 0,
    json: { migrations: ['note/002-more'], installed: [{ breaking: [] }] },
  })
  const contract = { ...expand, 'migrations/003-contract.sql': 'ALTER TABLE note DROP COLUMN body' }
  t.match(await install(note('1.2.0', 'SELECT more FROM note', contract)), {
    exitCode: 0,
    json: { installed: [{ breaking: [{ code: 'table-changed', message: /note\.body is dropped/ }] }] },
  })
  t.equal(await applied(directory), 3)
})

t.test('a version with a route that fails on its own schema is refused', async (t) => {
  const { directory, install } = await applicationWith(t, note('1.0.0', reader, {}))
  const before = await stateOf(directory)
  t.match(await install(note('2.0.0', 'SELECT missing FROM note', expand)), {
    exitCode: 4,
    json: {
      error: { code: 'probe-failed', message: /GET \/note responds with 500 .*no such column: missing/ },
    },
  })
  t.strictSame(await stateOf(directory), before)
})

t.test('a version that does not serve blocks no upgrade', async (t) => {
  const next = () => note('2.0.0', 'SELECT text FROM note', rename)
  await t.test('disabled', async (t) => {
    const { run, install } = await applicationWith(t, note('1.0.0', reader, {}))
    await run('module-disable', 'note')
    t.match(await install(next()), { exitCode: 0 })
  })
  await t.test('failing on the present schema already', async (t) => {
    const { directory, run, root } = await testApplication(t)
    // Passes the probe of its installation, and fails in that of the upgrade.
    const main = `import { existsSync } from 'node:fs'
      import { defineModule } from '@mortise/module-sdk'
      export default defineModule('note').plugin(async (app) => {
        app.get('/note', { config: { access: 'public' } }, async () => {
          if (existsSync('${join(root, 'down')}')) throw new Error('down')
          return {}
        })
      })`
    const file = await sampleTarball(join(root, 'a.tgz'), note('1.0.0', '', {}, { main }))
    t.match(await run('module-install', '--yes', file), { exitCode: 0 })
    await writeFile(join(root, 'down'), '')
    t.match(await run('module-install', '--yes', await sampleTarball(join(root, 'b.tgz'), next())), {
      exitCode: 0,
    })
    t.equal(await applied(directory), 2)
  })
  await t.test('damaged in the store', async (t) => {
    const { directory, install } = await applicationWith(t, note('1.0.0', reader, {}))
    const [folder = ''] = await readdir(join(directory, '.app', 'store'))
    await appendFile(join(directory, '.app', 'store', folder, 'index.js'), '\n// changed')
    t.match(await install(next()), { exitCode: 0 })
  })
})

t.test('the message names the one of two modules that breaks its previous version', async (t) => {
  const { root, directory, run, install } = await applicationWith(t, note('1.0.0', reader, {}))
  t.match(await install({ id: 'hello' }), { exitCode: 0 })
  const before = await stateOf(directory)
  const files = [
    await sampleTarball(join(root, 'x.tgz'), { id: 'hello', version: '2.0.0' }),
    await sampleTarball(join(root, 'y.tgz'), note('2.0.0', 'SELECT text FROM note', rename)),
  ]
  t.match(await run('module-install', '--yes', ...files), {
    exitCode: 4,
    json: { error: { code: 'breaks-previous', message: /^The upgrade of note to 2\.0\.0/ } },
  })
  t.strictSame(await stateOf(directory), before)
})
