import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { configFile, readGenerations, readLockFile } from '@mortise/application'
import { writeJournal } from '@mortise/installer/changes'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { interruptedChange } from '../interrupted-change.ts'
import { copiesOf, runApp, runFed, testApplication } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    keepFor: { type: 'string', pattern: '^[0-9]+[dw]$', default: '30d', description: 'how long' },
    most: { type: 'integer', minimum: 1, default: 100 },
    apiKey: { type: 'string', writeOnly: true },
    level: { anyOf: [{ const: '1' }, { const: 'high' }] },
    mail: {
      type: 'object',
      additionalProperties: false,
      properties: {
        host: { type: 'string' },
        tls: { type: 'boolean', default: true },
        password: { type: 'string', writeOnly: true },
      },
    },
  },
}

/** `GET /note` returns the settings; the module fails as they say. */
const plugin = `
  if (context.settings.keepFor === '13d') throw new Error('not thirteen')
  if (context.settings.keepFor === '17d' && process.env.IN_THE_HOST) throw new Error('not seventeen here')
  app.get('/note', { config: { access: 'public' } }, async () => context.settings)`

const noted = copiesOf(async ({ root, run }) => {
  const file = await sampleTarball(join(root, 'note.tgz'), {
    id: 'note',
    manifest: { config: 'config.json' },
    files: { 'config.json': JSON.stringify(schema) },
    plugin,
  })
  const { exitCode, stdout } = await run('module-install', '--yes', file)
  if (exitCode !== 0) throw new Error(stdout)
})

async function withNote(t: Test) {
  const application = await noted(t)
  return { ...application, text: () => readFile(configFile(application.directory), 'utf8') }
}

t.test('without a key, get shows every setting with its value and origin', async (t) => {
  const { run } = await withNote(t)
  const { exitCode, json } = await run('config', 'get')
  t.equal(exitCode, 0)
  const of = (key: string) => json.settings.find((setting: { key: string }) => setting.key === key)
  t.match(of('note.keepFor'), { value: '30d', default: '30d', source: 'default', description: 'how long' })
  t.match(of('note.apiKey'), { value: null, source: 'none' })
  t.match(of('note.mail.tls'), { value: true, variable: 'APP_MODULES_NOTE_MAIL_TLS' })
  t.match(of('server.port'), { value: 3000, source: 'default' })
  t.match(of('auth.issuer'), { source: 'app.config.json' })
})

t.test('a key shows one setting; a module or a group shows several', async (t) => {
  const { run } = await withNote(t)
  t.match(await run('config', 'get', 'note.most'), { json: { key: 'note.most', value: 100 } })
  t.match(await run('config', 'get', '@acme/note.most'), { json: { key: 'note.most' } })
  t.match(await run('config', 'get', 'modules.note.most'), { json: { key: 'note.most' } })
  const keys = async (key: string) =>
    (await run('config', 'get', key)).json.settings.map((setting: { key: string }) => setting.key)
  t.strictSame(await keys('note.mail'), ['note.mail.host', 'note.mail.tls', 'note.mail.password'])
  t.equal((await keys('note')).length, 7)
})

t.test('a running host applies a setting as a new generation', async (t) => {
  const { directory, run, text } = await withNote(t)
  const running = await runningHost(t, directory)
  const before = await text()
  t.match(await run('config', 'set', 'note.keepFor', '7d'), {
    exitCode: 0,
    json: { key: 'note.keepFor', value: '7d', changed: true, generation: 2, live: true },
  })
  t.match((await get(running, '/note')).body, { keepFor: '7d', most: 100 })
  t.match((await readGenerations(directory)).known.at(-1), { command: 'config set note.keepFor' })

  t.match(await run('config', 'set', 'note.keepFor', '7d'), {
    exitCode: 0,
    json: { changed: false, live: true },
  })
  const { records } = (await run('audit')).json
  t.match(records, [{ action: 'config', object: 'note.keepFor' }, { action: 'module-install' }])
  t.notMatch(JSON.stringify(records), /7d/)
  t.match(await run('config', 'unset', 'note.keepFor'), { json: { value: '30d', changed: true, live: true } })
  t.match((await get(running, '/note')).body, { keepFor: '30d' })
  t.equal(await text(), before, 'the file is as it was, to the byte')
  t.match(await run('config', 'unset', 'note.keepFor'), { exitCode: 0, json: { changed: false } })
  t.equal((await readLockFile(directory)).generation, 3)
})

t.test('values have the type of the schema', async (t) => {
  const { run, text } = await withNote(t)
  for (const [key, value] of [
    ['most', '5'],
    ['level', '1'],
    ['mail.tls', 'false'],
    ['mail.host', 'null'],
  ] as const) {
    t.match(await run('config', 'set', `note.${key}`, value), { exitCode: 0 }, key)
  }
  t.same(JSON.parse(await text()).modules.note, {
    most: 5,
    level: '1',
    mail: { tls: false, host: 'null' },
  })
})

t.test('a value that the schema refuses is exit 2, names the key, and changes nothing', async (t) => {
  const { directory, run, text } = await withNote(t)
  const before = await text()
  for (const [argv, message] of [
    [['set', 'note.most', '0'], /"modules\.note\.most" must be an integer of at least 1/],
    [['set', 'note.most', '-1'], /"modules\.note\.most" must be an integer of at least 1/],
    [['set', 'note.most', 'many'], /"modules\.note\.most" must be an integer/],
    [['set', 'note.keepfor', '7d'], /"note\.keepfor" is not a setting of note/],
    [['set', 'note.mail', '[]'], /"note\.mail" is a group of settings/],
    [['set', 'note', '{}'], /"note" is a group of settings/],
    [['set', 'server.port', '70000'], /"server\.port" must be an integer from 0 to 65535/],
    [['set', 'server.prot', '80'], /"server\.prot" is not a setting of the host/],
    [['set', 'database', 'mysql://a/b'], /"database" must be the path of a file/],
    [['set', 'auth.issuers', '[{"issuer":"urn:a","audience":"b"}]'], /"auth\.issuers" .*needs a "jwksUri"/],
    [['set', 'note.most'], /Wrong arguments of "app config"/],
    [['put', 'note.most', '3'], /Wrong arguments of "app config"/],
  ] as const) {
    t.match(await run('config', ...argv), { exitCode: 2, json: { error: { message } } }, argv.join(' '))
  }
  t.match(await run('config', 'set', 'nots.most', '3'), {
    exitCode: 3,
    json: { error: { code: 'not-installed', hint: /note\.most/ } },
  })
  t.equal(await text(), before)
  t.equal((await readLockFile(directory)).generation, 1)
})

t.test('a value with which a module fails is refused, and nothing changes', async (t) => {
  const { directory, run, text } = await withNote(t)
  const running = await runningHost(t, directory)
  const before = await text()
  t.match(await run('config', 'set', 'note.keepFor', '13d'), {
    exitCode: 4,
    json: { error: { code: 'probe-failed', message: /not thirteen/ } },
  })
  t.equal(await text(), before)
  t.match((await get(running, '/note')).body, { keepFor: '30d' })
})

t.test('a module that fails only in the host gets its previous value back, and serves', async (t) => {
  const { directory, run, text } = await withNote(t)
  process.env.IN_THE_HOST = 'yes'
  t.teardown(() => delete process.env.IN_THE_HOST)
  const running = await runningHost(t, directory)
  await run('config', 'set', 'note.keepFor', '7d')
  const before = await text()
  t.match(await run('config', 'set', 'note.keepFor', '17d'), {
    exitCode: 5,
    json: { error: { code: 'activation-failed', message: /not seventeen here.*previous/ } },
  })
  t.equal(await text(), before)
  t.match(await get(running, '/note'), { status: 200, body: { keepFor: '7d' } })
  t.equal(running.state().generation, (await readLockFile(directory)).generation)
})

t.test('a killed change is completed, unless the file was edited since', async (t) => {
  const { directory, run, text } = await withNote(t)
  const previous = await readLockFile(directory)
  const before = await text()
  const interrupted = async () => {
    const lock = await readLockFile(directory)
    const next = { ...lock, generation: lock.generation + 1 }
    const config = { previous: before, next: before.replace('{', '{ "version": "2.0.0",') }
    await writeJournal(directory, { ...interruptedChange('config set version', lock, next), config })
  }
  await interrupted()
  t.match(await run('module-remove', 'nothing'), { stderr: /Completed "config set version"/ })
  t.match(JSON.parse(await text()), { version: '2.0.0' })
  t.equal((await readLockFile(directory)).generation, previous.generation + 1)

  const mine = before.replace('{', '{ "version": "3.0.0",')
  await writeFile(configFile(directory), mine)
  await interrupted()
  await run('module-remove', 'nothing')
  t.equal(await text(), mine)
})

t.test('a writeOnly setting is not written into the file, alone and in a group', async (t) => {
  const { directory, text } = await withNote(t)
  const before = await text()
  const refused = {
    exitCode: 2,
    json: {
      error: {
        code: 'secret-setting',
        message: /note\.(apiKey|mail\.password)/,
        hint: /APP_MODULES_NOTE_\w+.*envFile/,
      },
    },
  }
  for (const argv of [
    ['note.apiKey', 'hunter2-secret'],
    ['modules.note.apiKey', 'hunter2-secret'],
    ['note.apiKey', '-'],
    ['note.mail', '{ "host": "mail.example", "password": "hunter2-secret" }'],
  ]) {
    const outcome = await runFed('hunter2-secret\n', 'config', 'set', ...argv, '--dir', directory, '--json')
    t.match(outcome, refused, argv.join(' '))
    t.notMatch(outcome.stdout + outcome.stderr, /hunter2/)
  }
  t.equal(await text(), before)
})

t.test('the value may come from standard input, and a group is set at once', async (t) => {
  const { directory, run, text } = await withNote(t)
  const given = (input: string, key: string) =>
    runFed(input, 'config', 'set', key, '-', '--dir', directory, '--json')
  t.match(await given('7d\n', 'note.keepFor'), { exitCode: 0, json: { value: '7d' } })
  t.match(await given('{ "host": "mail.example", "tls": false }\n', 'note.mail'), {
    exitCode: 0,
    json: { key: 'note.mail', value: { host: 'mail.example', tls: false } },
  })
  t.same(JSON.parse(await text()).modules.note, {
    keepFor: '7d',
    mail: { host: 'mail.example', tls: false },
  })
  t.match(await run('config', 'set', 'note.mail', 'x'), {
    exitCode: 2,
    json: { error: { code: 'setting-group' } },
  })
  t.match(await run('config', 'set', 'note.mail', '{"port":1}'), {
    exitCode: 2,
    json: { error: { code: 'invalid-setting' } },
  })
  t.match(await run('config', 'unset', 'note.mail'), { exitCode: 0 })
  t.same(JSON.parse(await text()).modules.note, { keepFor: '7d' })
})

t.test('a writeOnly setting is not shown, and no history has its value', async (t) => {
  const { directory, run, text } = await withNote(t)
  const file = JSON.parse(await text())
  await writeFile(
    configFile(directory),
    JSON.stringify({ ...file, modules: { note: { apiKey: 'hunter2-secret' } } }),
  )
  t.match(await run('config', 'set', 'note.most', '3'), { exitCode: 0 })
  const outputs = [await run('config', 'get', 'note.apiKey'), await run('config', 'get')]
  for (const { exitCode, stdout, stderr } of outputs) {
    t.equal(exitCode, 0)
    t.match(stdout, /"\(set\)"/)
    t.notMatch(stdout + stderr, /hunter2/)
  }
  const { known: generations } = await readGenerations(directory)
  t.notMatch(JSON.stringify(generations), /hunter2/)
})

t.test('one of several invalid settings can be corrected', async (t) => {
  const { directory, run, text } = await withNote(t)
  const file = JSON.parse(await text())
  const wrong = { ...file, modules: { note: { most: 0, keepFor: 'long', gone: 1 } } }
  await writeFile(configFile(directory), JSON.stringify(wrong))
  t.match(await run('config', 'set', 'note.most', '0'), { exitCode: 0, json: { changed: false } })
  t.match(await run('config', 'set', 'note.most', '-3'), { exitCode: 2 })
  t.match(await run('config', 'set', 'note.most', '3'), { exitCode: 0, stderr: /Still invalid.*keepFor/ })
  t.match(await run('config', 'unset', 'note.gone'), { exitCode: 0, json: { changed: true } })
  t.match(await run('config', 'set', 'note.keepFor', '3d'), { exitCode: 0 })
  t.same(JSON.parse(await text()).modules, { note: { most: 3, keepFor: '3d' } })
})

t.test('a running host waits while settings are invalid, and applies all when they are valid', async (t) => {
  const { root, directory, run, text } = await withNote(t)
  const other = await sampleTarball(join(root, 'other.tgz'), {
    id: 'other',
    manifest: { config: 'config.json' },
    files: { 'config.json': JSON.stringify(schema) },
  })
  await run('module-install', '--yes', other)
  const running = await runningHost(t, directory)
  const file = JSON.parse(await text())
  const wrong = { note: { most: 0, keepFor: 'long' }, other: { most: 0 } }
  await writeFile(configFile(directory), JSON.stringify({ ...file, modules: wrong }))
  for (const [key, value] of [
    ['note.most', '3'],
    ['note.keepFor', '3d'],
  ] as const) {
    t.match(await run('config', 'set', key, value), {
      exitCode: 0,
      stderr: /Still invalid.*other\.most/,
      json: { changed: true, live: false },
    })
  }
  t.match((await get(running, '/note')).body, { most: 100, keepFor: '30d' })
  t.match(await run('config', 'set', 'other.most', '5'), { exitCode: 0, json: { live: true } })
  t.match((await get(running, '/note')).body, { most: 3, keepFor: '3d' })
})

t.test('settings of removed modules can be unset', async (t) => {
  const { run, directory, text } = await withNote(t)
  await run('config', 'set', 'note.most', '3')
  await run('module-remove', 'note')
  t.match(await run('config', 'unset', 'note.most'), { exitCode: 0, json: { changed: true } })
  t.notOk(Object.hasOwn(JSON.parse(await text()), 'modules'))
  t.equal((await readLockFile(directory)).generation, 3)
})

t.test('a setting of the host waits for its next start; the file keeps its mode', async (t) => {
  const { directory, run, text } = await withNote(t)
  await chmod(configFile(directory), 0o640)
  t.match(await run('config', 'set', 'server.port', '8080'), {
    exitCode: 0,
    json: { value: 8080, changed: true, generation: null, live: false },
  })
  t.match(await run('config', 'set', 'aliases.api-x', '@acme/x@^2'), { exitCode: 0 })
  t.match(JSON.parse(await text()), { server: { port: 8080 }, aliases: { 'api-x': '@acme/x@^2' } })
  t.equal((await stat(configFile(directory))).mode & 0o777, 0o640)
  t.equal((await readLockFile(directory)).generation, 1)
})

t.test(
  'a setting of the host that waits for a restart appears as pending in app config and in app doctor',
  async (t) => {
    const { directory, run } = await withNote(t)
    const running = await runningHost(t, directory)
    const finding = async () =>
      (await run('doctor')).json.findings.find(({ id }: { id: string }) => id === 'settings-pending')
    t.equal(await finding(), undefined)
    t.match(await run('config', 'set', 'log.slowMs', '1500'), { json: { value: 1500, effective: 1000 } })
    t.match(await run('config', 'get', 'log.slowMs'), {
      json: { value: 1500, effective: 1000 },
      stderr: /uses 1000 until it is restarted/,
    })
    t.match(await finding(), { severity: 'warning', message: /log\.slowMs \(1000, next 1500\)/ })
    await run('config', 'set', 'publicUrl', 'https://shop.example')
    t.match(await finding(), { message: /publicUrl \(no value, next "https:\/\/shop\.example"\)/ })
    await run('config', 'set', 'database', 'postgres://shop:hidden@127.0.0.1:1/shop')
    for (const argv of [['config', 'get', 'database'], ['doctor']]) {
      t.notMatch((await run(...argv)).stdout, /hidden/)
    }
    await run('config', 'unset', 'database')
    await running.close()
    await runningHost(t, directory)
    t.equal(await finding(), undefined)
    t.notOk('effective' in (await run('config', 'get', 'log.slowMs')).json)
  },
)

t.test('the value of a running host is its own default, or that of an option of its start', async (t) => {
  const { directory, run } = await withNote(t)
  const running = await runningHost(t, directory)
  const port = Number(new URL(running.url).port)
  const standard = process.stdout.isTTY || process.stderr.isTTY ? 0 : 5
  t.match(await run('config', 'set', 'server.drainSeconds', '7'), { json: { value: 7, effective: standard } })
  await run('config', 'set', 'storage.minFreeBytes', '1')
  t.match((await run('config', 'get', 'storage.minFreeBytes')).json, { effective: Number })
  const { message } = (await run('doctor')).json.findings[0]
  t.match(message, /storage\.minFreeBytes \(\d+, next 1\), server\.drainSeconds \(\d, next 7\)\.$/)
  await run('config', 'set', 'server.drainSeconds', String(standard))
  t.notOk('effective' in (await run('config', 'get', 'server.drainSeconds')).json, 'it has the same effect')
  await run('config', 'unset', 'storage.minFreeBytes')

  const byOption = { effective: port, option: '--port' }
  t.match(await run('config', 'get', 'server.port'), {
    json: { value: 3000, ...byOption },
    stderr: new RegExp(`uses ${port} by --port\\.`),
  })
  t.match(await run('config', 'set', 'server.port', '8080'), { json: { value: 8080, ...byOption } })
  const all = await runApp('config', 'get', '--dir', directory)
  t.match(all.stdout, new RegExp(`^server\\.port = 8080 .*\\. The running host uses ${port} by --port$`, 'm'))
  t.strictSame((await run('doctor')).json.findings, [], 'a restart would not change that')
  await run('config', 'set', 'server.port', String(port))
  t.notOk('effective' in (await run('config', 'get', 'server.port')).json)
})

t.test('the audit trail has the values of a host setting, but not of a secret', async (t) => {
  const { directory, run } = await withNote(t)
  await run('config', 'set', 'server.port', '8080')
  await run('config', 'set', 'database', 'postgres://shop:hidden@127.0.0.1:1/shop')
  await run('config', 'unset', 'database')
  await runningHost(t, directory)
  const { json, stdout } = await run('audit')
  t.match(json.records, [
    { action: 'config', object: 'database', details: { command: 'config unset database', to: null } },
    { action: 'config', object: 'database', details: { to: 'postgres://shop:(set)@127.0.0.1:1/shop' } },
    {
      actor: /^os:/,
      object: 'server.port',
      outcome: 'done',
      details: { machine: hostname(), command: 'config set server.port', from: null, to: 8080 },
    },
    { action: 'module-install' },
  ])
  t.notMatch(stdout, /hidden/)
})

t.test(
  'if a change of a host setting is killed, the next command completes it and records it in the audit trail',
  async (t) => {
    const { directory, run, text } = await withNote(t)
    const lock = await readLockFile(directory)
    const previous = await text()
    const next = JSON.stringify({ ...JSON.parse(previous), server: { port: 8080 } })
    const journal = interruptedChange('config set server.port', lock, lock)
    await writeJournal(directory, { ...journal, config: { previous, next } })
    t.match(await run('module-remove', 'nothing'), { stderr: /Completed "config set server.port"/ })
    t.equal(await text(), next)
    t.strictSame(await readLockFile(directory), lock)
    t.match((await run('audit')).json.records[0], { action: 'config', outcome: 'done' })
  },
)

/** A module that cannot be installed without its settings. */
const review = (root: string) =>
  sampleTarball(join(root, 'review.tgz'), {
    id: 'review',
    manifest: { config: 'config.json' },
    files: {
      'config.json': JSON.stringify({
        type: 'object',
        additionalProperties: false,
        required: ['apiKey', 'mail'],
        properties: {
          apiKey: { type: 'string', writeOnly: true },
          mail: { type: 'object', required: ['port'], properties: { port: { type: 'integer' } } },
        },
      }),
    },
    plugin: `app.get('/review', { config: { access: 'public' } }, async () => context.settings)`,
  })

t.test('a required setting can be set before its module is installed', async (t) => {
  const { root, directory, run, text } = await withNote(t)
  const file = await review(root)
  const before = await text()
  const running = await runningHost(t, directory)
  t.match(await run('module-install', '--yes', file), {
    exitCode: 4,
    json: {
      error: {
        code: 'invalid-settings',
        message: /"modules\.review\.apiKey" is required; "modules\.review\.mail" is required/,
        hint: /app config set review\.<setting> <value>/,
      },
    },
  })
  t.match(await run('config', 'set', 'review.apiKey', 'hunter2-secret'), {
    exitCode: 0,
    json: { key: 'review.apiKey', value: '(set)', changed: true, generation: null, live: false },
  })
  t.match(await run('module-install', '--yes', file, '--dry-run'), {
    exitCode: 4,
    json: { error: { message: /"modules\.review\.mail" is required/ } },
  })
  const said = await runApp('config', 'set', 'review.mail.port', '25', '--dir', directory)
  t.equal(
    said.stdout,
    'review.mail.port is "(set)". review is not installed: its installation checks its settings.\n',
  )
  for (const argv of [
    ['config', 'get'],
    ['config', 'get', 'review.apiKey'],
    ['config', 'get', 'modules.review'],
    ['audit'],
    ['doctor'],
  ]) {
    const { exitCode, stdout } = await run(...argv)
    t.notMatch(stdout, /hunter2/, argv.join(' '))
    t.equal(exitCode, 0)
  }
  t.match((await run('config', 'get')).json.settings.at(-1), { key: 'review.mail', value: '(set)' })
  t.match((await run('audit')).json.records[0], {
    action: 'config',
    object: 'review.mail.port',
    outcome: 'done',
  })
  t.match(await run('module-install', '--yes', file), { exitCode: 0, json: { live: true } })
  t.match((await get(running, '/review')).body, { apiKey: 'hunter2-secret', mail: { port: 25 } })
  t.equal((await run('module-remove', 'review')).exitCode, 0)
  for (const key of ['review.apiKey', 'modules.review']) {
    t.match(await run('config', 'unset', key), { exitCode: 0, json: { changed: true, value: null } })
  }
  t.equal(await text(), before)
})

t.test('a value that the module does not take is refused at its installation', async (t) => {
  const { root, run } = await withNote(t)
  const file = await review(root)
  await run('config', 'set', 'review.mail.port', '25')
  await run('config', 'set', 'review.apiKey', '123')
  t.match(await run('module-install', '--yes', file), {
    exitCode: 4,
    json: { error: { code: 'invalid-settings', message: /"modules\.review\.apiKey" must be a string/ } },
  })
  await run('config', 'set', 'review.apiKey', '"123"')
  t.match(await run('module-install', '--yes', file), { exitCode: 0 })
})

t.test(
  'what is a misspelling rather than a module to come is refused, unless it is named as one',
  async (t) => {
    const { run, text } = await withNote(t)
    const before = await text()
    for (const [key, hint] of [
      ['nots.most', /^Did you mean note\.most\? .*app config set modules\.nots\.most <value>$/],
      ['sever.port', /^Did you mean server\.port\?/],
      ['review.', /app config set <id>\.<setting> <value>$/],
      ['review', /app config set <id>\.<setting> <value>$/],
      ['@acme/review.apiKey', /app config set <id>\.<setting> <value>$/],
    ] as const) {
      const refused = await run('config', 'set', key, '3')
      t.match(refused, { exitCode: 3, json: { error: { code: 'not-installed', hint } } }, key)
    }
    t.equal(await text(), before)
    for (const key of ['modules.nots.most', 'catalog.apiKey'])
      t.match(await run('config', 'set', key, '3'), { exitCode: 0, json: { changed: true } }, key)
    t.match(JSON.parse(await text()), { modules: { nots: { most: 3 }, catalog: { apiKey: 3 } } })
    t.match(await run('config', 'get', 'other.key'), {
      exitCode: 3,
      json: { error: { code: 'not-installed' } },
    })
  },
)

t.test('a host setting works in an otherwise empty file', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('config', 'set', 'log.slowMs', '1501'), { exitCode: 0, stderr: /^$/ })
})

t.test('the output names a variable that overrides the file', async (t) => {
  const { run } = await withNote(t)
  process.env.APP_MODULES_NOTE_MOST = '9'
  t.teardown(() => delete process.env.APP_MODULES_NOTE_MOST)
  t.match(await run('config', 'set', 'note.most', '5'), {
    exitCode: 0,
    stderr: /APP_MODULES_NOTE_MOST is set and overrides/,
    json: { value: 9, source: 'environment' },
  })
  t.match(await run('config', 'set', 'note.most', '0'), { exitCode: 2 })
})

t.test('the output says which variable the running host uses instead of the file', async (t) => {
  const { directory, run } = await withNote(t)
  const environment = { APP_LOG_LEVEL: 'silent', APP_MODULES_NOTE_MOST: '9', APP_NAME: 'Shop' }
  await runningHost(t, directory, { environment })
  for (const [key, value, variable] of [
    ['note.most', '5', /APP_MODULES_NOTE_MOST/],
    ['name', 'Other', /APP_NAME/],
  ] as const) {
    t.match(await run('config', 'set', key, value), { exitCode: 0, stderr: variable, json: { live: false } })
    t.match(await run('config', 'get', key), { exitCode: 0, stderr: variable })
  }
})
