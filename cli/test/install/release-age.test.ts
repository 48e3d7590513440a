import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { fakeRegistry, type Published, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleFolder } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

function module(version: string, at: string | null | undefined, dependencies = {}): Published {
  const { 'package.json': json, ...files } = sampleFiles({ version, json: { dependencies } })
  return { ...published(JSON.parse(json as string), files), ...(at !== undefined && { at }) }
}

const word = (version: string, at?: string | null, dependencies = {}): Published => ({
  ...published({ name: 'word', version, dependencies }, { 'index.js': '' }),
  ...(at !== undefined && { at }),
})

async function applicationOn(t: Test, ...packages: Published[]) {
  const application = await testApplication(t)
  process.env.npm_config_registry = (await fakeRegistry(t, packages)).registry
  return { ...application, packages, lock: () => readLockFile(application.directory) }
}

const refused = { exitCode: 4, json: { error: { code: 'too-new' } } }

t.test('a version younger than 72 hours is refused, with its dates', async (t) => {
  const at = hoursAgo(71)
  const { directory, run, lock } = await applicationOn(t, module('1.0.0', at))
  const outcome = await run('module-install', '--yes', '@acme/hello')
  t.match(outcome, refused)
  const { message, hint } = outcome.json.error
  t.match(message, `@acme/hello@1.0.0 is refused: it was published at ${at}, less than 72 hours ago`)
  t.match(hint, new Date(Date.parse(at) + 72 * 3_600_000).toISOString())
  t.match(hint, '--allow-new')
  t.match(await run('module-install', '--yes', '@acme/hello', '--dry-run'), refused)
  t.match(await lock(), { generation: 0, modules: {} })
  t.match(await runApp('module-info', '@acme/hello', '--dir', directory), { exitCode: 0 }, 'is only shown')
})

t.test('--allow-new installs it, on record', async (t) => {
  const at = hoursAgo(1)
  const { directory, run } = await applicationOn(t, module('1.0.0', at, { word: '*' }), word('1.0.0', at))
  const outcome = await run('module-install', '--yes', '@acme/hello', '--allow-new')
  t.match(outcome, {
    exitCode: 0,
    json: {
      installed: [{ ages: { published: at, young: [{ package: '@acme/hello' }, { package: 'word' }] } }],
    },
  })
  t.match(outcome.stderr, `word 1.0.0 is new: it was published at ${at}.`)
  t.match((await run('module-history')).json.generations.at(-1).command, /@acme\/hello --allow-new$/)
  const { records } = (await run('audit')).json
  t.match(records[0].details, {
    allowedNew: [`@acme/hello 1.0.0, published ${at}`, `word 1.0.0, published ${at}`],
  })
  // What is installed is not refused again, and nothing is exchanged for something older.
  t.match(await run('module-upgrade'), { exitCode: 0, json: { unchanged: ['hello'] } })
  t.match(await run('module-install', '--yes', '@acme/hello@1.0.0'), {
    exitCode: 0,
    json: { unchanged: ['hello'] },
  })
  await rm(join(directory, '.app', 'store'), { recursive: true })
  t.match(await run('module-install', '--frozen'), { exitCode: 0, json: { restored: ['hello'] } })
})

t.test('the newest version that is old enough is preferred', async (t) => {
  const young = hoursAgo(2)
  const { run, packages, lock } = await applicationOn(
    t,
    module('1.0.0', hoursAgo(100)),
    module('1.1.0', hoursAgo(73)),
    module('1.2.0', young),
  )
  const outcome = await run('module-install', '--yes', '@acme/hello@^1.0.0')
  t.match(outcome, {
    exitCode: 0,
    json: {
      installed: [
        { version: '1.1.0', ages: { waiting: [{ version: '1.2.0', instead: '1.1.0', published: young }] } },
      ],
    },
  })
  t.match(outcome.stderr, /@acme\/hello 1\.1\.0 instead of 1\.2\.0, which was published at/)
  const outdated = await run('module-list', '--outdated')
  t.match(outdated.json.modules, [
    { wanted: '1.1.0', latest: '1.2.0', outdated: false, waiting: { version: '1.2.0' } },
  ])
  t.match(await run('module-upgrade'), { exitCode: 0, json: { installed: [], unchanged: ['hello'] } })
  t.match(await run('module-upgrade', 'hello@1.2.0'), refused)
  t.match(await run('module-upgrade', '--allow-new'), {
    exitCode: 0,
    json: { installed: [{ version: '1.2.0' }] },
  })
  packages.push(module('1.3.0', hoursAgo(1)))
  t.match(await run('module-upgrade'), { exitCode: 0, json: { unchanged: ['hello'] } }, 'never back to 1.1.0')
  t.match((await lock()).modules, { hello: { version: '1.2.0' } })
})

t.test('a dependency waits too, wherever it is in the tree', async (t) => {
  const young = hoursAgo(3)
  const other = { ...published({ name: 'other', version: '1.0.0' }), at: young }
  const deep = module('1.0.0', undefined, { word: '^1.0.0' })
  await t.test('an older one in range is taken', async (t) => {
    const { run, lock } = await applicationOn(t, deep, word('1.0.0'), word('1.1.0', young))
    const outcome = await run('module-install', '--yes', '@acme/hello')
    t.match(outcome.json.installed[0].ages.waiting, [{ package: 'word', version: '1.1.0', instead: '1.0.0' }])
    t.match((await lock()).modules.hello?.dependencies, { 'node_modules/word': { version: '1.0.0' } })
  })
  await t.test('without one the change is refused', async (t) => {
    const { run, lock } = await applicationOn(t, deep, word('1.0.0', undefined, { other: '^1.0.0' }), other)
    const outcome = await run('module-install', '--yes', '@acme/hello')
    t.match(outcome, refused)
    t.match(
      outcome.json.error.message,
      `other@1.0.0 (a dependency of @acme/hello@1.0.0) is refused: it was published at ${young}`,
    )
    t.strictSame((await lock()).modules, {})
  })
  await t.test('an optional one is not left out silently', async (t) => {
    const { 'package.json': json, ...files } = sampleFiles({
      json: { optionalDependencies: { other: '^1.0.0' } },
    })
    const optional = published(JSON.parse(json as string), files)
    const { run } = await applicationOn(t, optional, other)
    t.match(await run('module-install', '--yes', '@acme/hello'), refused)
    t.match(await run('module-install', '--yes', '@acme/hello', '--allow-new'), { exitCode: 0 })
  })
  await t.test('of a folder as well', async (t) => {
    const { root, run } = await applicationOn(t, other)
    const folder = await sampleFolder(`${root}/mine`, { json: { dependencies: { other: '*' } } })
    t.match(await run('module-install', '--yes', folder), refused)
  })
})

t.test('a registry without dates lets its packages through, and the plan says so', async (t) => {
  const { run } = await applicationOn(t, module('1.0.0', null, { word: '*' }), word('1.0.0', null))
  const outcome = await run('module-install', '--yes', '@acme/hello')
  t.match(outcome, {
    exitCode: 0,
    json: { installed: [{ ages: { published: null, undated: ['@acme/hello@1.0.0', 'word@1.0.0'] } }] },
  })
  t.match(outcome.stderr, 'The registry gives no publication date for @acme/hello@1.0.0, word@1.0.0.')
})

t.test('install.minAgeHours changes the age, and 0 turns it off', async (t) => {
  const { run } = await applicationOn(t, module('1.0.0', hoursAgo(5)))
  t.teardown(() => delete process.env.APP_INSTALL_MIN_AGE_HOURS)
  process.env.APP_INSTALL_MIN_AGE_HOURS = '6'
  t.match((await run('module-install', '--yes', '@acme/hello')).json.error.message, /less than 6 hours ago/)
  process.env.APP_INSTALL_MIN_AGE_HOURS = '4'
  t.match(await run('module-install', '--yes', '@acme/hello', '--dry-run'), { exitCode: 0 })
  process.env.APP_INSTALL_MIN_AGE_HOURS = '0'
  t.match(await run('module-install', '--yes', '@acme/hello'), {
    exitCode: 0,
    json: { installed: [{ version: '1.0.0' }] },
  })
})
