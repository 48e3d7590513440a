import { createRequire } from 'node:module'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/config.ts'
import { type ProbeOptions, probe } from '../../src/generations/probe.ts'
import { applicationFolder, type FixtureModule, modulePackage, oneRoute } from '../application-folder.ts'

async function probeAll(t: Test, modules: FixtureModule[], options: ProbeOptions = {}) {
  const config = await readConfig(await applicationFolder(t), {})
  const probed = []
  for (const module of modules)
    probed.push({ id: module.manifest.id, directory: await modulePackage(t, module) })
  return probe(config, probed, options)
}

/** A module whose entry is `code`, and which declares `routes`. */
const withCode = (code: string, ...routes: string[]): FixtureModule => ({
  manifest: { id: 'bad', routes },
  files: { 'index.js': code },
})

t.test('modules that would serve together pass', async (t) => {
  await probeAll(t, [oneRoute('one', '1'), oneRoute('two', '2')])
  await probeAll(t, [])
})

t.test('a module that throws, exits, exports nothing or hangs is named with the reason', async (t) => {
  const bad: [string, FixtureModule, RegExp][] = [
    ['throws while loading', withCode('throw new Error("no luck")'), /no luck/],
    ['throws no Error', withCode('throw null'), /null/],
    [
      'throws while registering',
      withCode('export default async () => { throw new Error("later") }'),
      /later/,
    ],
    [
      'throws when ready',
      withCode(
        'export default async (app) => { app.addHook("onReady", async () => { throw new Error("ready") }) }',
      ),
      /ready/,
    ],
    [
      'throws out of turn',
      withCode('setTimeout(() => { throw new Error("stray") }); await new Promise(() => {})'),
      /stray/,
    ],
    ['exits while loading', withCode('process.exit(0)'), /ended with exit code 0 while it was loading/],
    ['exits while registering', withCode('export default async () => process.exit(3)'), /exit code 3/],
    ['kills itself', withCode('process.kill(process.pid, "SIGKILL")'), /killed by SIGKILL/],
    ['exports no plugin', withCode('export default {}'), /no Fastify plugin/],
    ['has no entry', { manifest: { id: 'bad' }, files: {} }, /index\.js/],
    ['is no JavaScript', withCode('export default async ('), /Unexpected/],
    ['imports what it does not have', withCode('import "left-pad"'), /left-pad/],
  ]
  for (const [what, module, message] of bad) {
    await t.rejects(probeAll(t, [oneRoute('good', ''), module]), { module: 'bad', message }, what)
  }
})

t.test('what fails in a module is told with its place there, and with the stack as the cause', async (t) => {
  const bad: [string, FixtureModule, RegExp][] = [
    ['throws', withCode('\n\nthrow new Error("no luck")'), /: no luck \(index\.js:3\)$/],
    [
      'throws in another file',
      {
        manifest: { id: 'bad' },
        files: { 'index.js': 'import "./lib/deep.js"', 'lib/deep.js': 'null.x' },
      },
      /\(lib\/deep\.js:1\)$/,
    ],
    ['is no JavaScript', withCode('\nexport default async ('), /Unexpected.*\(index\.js:2\)$/],
    [
      'is no CommonJS',
      { manifest: { id: 'bad' }, files: { 'index.cjs': '\n\n(' }, packageJson: { main: './index.cjs' } },
      /Unexpected.*\(index\.cjs:\d\)$/,
    ],
    [
      'throws while registering',
      withCode('export default async () => {\n  throw new Error("later")\n}'),
      /: later \(index\.js:2\)$/,
    ],
    [
      'registers too much',
      withCode(
        "export default async (app) => {\n  app.get('/x', { config: { access: 'public' } }, () => 1)\n}",
      ),
      /does not declare \(index\.js:2\)$/,
    ],
    [
      'throws out of turn',
      withCode('setTimeout(() => { throw new Error("stray") })\nawait new Promise(() => {})'),
      /: Error: stray \(index\.js:1\)$/,
    ],
  ]
  for (const [what, module, message] of bad) {
    await t.rejects(probeAll(t, [module]), { message, cause: { stack: /(index|deep)\.c?js/ } }, what)
  }
})

t.test('a module that never finishes is ended, with what it has started', async (t) => {
  const endless: [string, string][] = [
    ['loops', 'for (;;) {}'],
    ['loops while registering', 'export default async () => { for (;;) {} }'],
    ['waits', 'const timer = setInterval(() => {}, 1000); await new Promise(() => {})'],
    [
      'ignores signals',
      'process.on("SIGTERM", () => {}); await new Promise(() => setInterval(() => {}, 1000))',
    ],
  ]
  for (const [what, code] of endless) {
    await t.rejects(
      probeAll(t, [withCode(code)], { timeout: 2000 }),
      { module: 'bad', message: /within 2 s/ },
      what,
    )
  }
})

t.test('a module starts no process and writes nowhere but to where it runs', async (t) => {
  const spawning = "import { spawn } from 'node:child_process'\nspawn('true')"
  const bad: [string, string, RegExp][] = [
    ['starts a process', spawning, /^it starts a process while it loads.*\(index\.js:2\)$/],
    [
      'starts one out of turn',
      "import { spawn } from 'node:child_process'\nsetTimeout(() => spawn('true'))\nawait new Promise(() => {})",
      /^it starts a process while it loads.*\(index\.js:2\)$/,
    ],
    [
      'starts one in a thread',
      "import { Worker } from 'node:worker_threads'\nnew Worker('require(`child_process`).spawn(`true`)', { eval: true })\nawait new Promise(() => {})",
      /^it starts a process while it loads/,
    ],
    [
      'writes into its package',
      "import { writeFileSync } from 'node:fs'\nwriteFileSync(new URL('x', import.meta.url), '')",
      /^it writes to .*\/x while it loads.*\(index\.js:2\)$/,
    ],
  ]
  for (const [what, code, message] of bad) {
    await t.rejects(probeAll(t, [withCode(code)]), { module: 'bad', message }, what)
  }
})

t.test('what honest modules do while they load is allowed', async (t) => {
  const code = `
    import { execSync } from 'node:child_process'
    import fs from 'node:fs'
    import { tmpdir } from 'node:os'
    import { join } from 'node:path'
    import { Worker } from 'node:worker_threads'
    import SQLite from ${JSON.stringify(createRequire(import.meta.url).resolve('better-sqlite3'))}
    fs.writeFileSync(join(tmpdir(), 'mine'), '')
    fs.appendFileSync('module.log', 'begun')
    new SQLite('own.db').exec('CREATE TABLE a (b)')
    await new Promise((done) => new Worker('1', { eval: true }).once('exit', done))
    await fetch('http://127.0.0.1:1').catch(() => {})
    try { execSync('git rev-parse HEAD') } catch {}
    process.send?.('ready')
    globalThis.mine = Reflect.decorate = fs.mine = new Response(new Blob(['']))
    const close = fs.close
    fs.close = (...args) => close(...args)
    console.table([crypto.subtle, navigator, performance.now(), new Intl.NumberFormat()])
    export default async () => {}
  `
  await t.resolves(probeAll(t, [withCode(code)]))
})

t.test('what all code of the process shares stays as it is', async (t) => {
  const bad: [string, RegExp][] = [
    ['Object.prototype.shout = 1', /^it adds Object\.prototype\.shout, for the host and all modules$/],
    ['JSON.parse = () => 1', /^it replaces JSON\.parse,/],
    ['globalThis.fetch = () => 1', /^it replaces fetch,/],
    ['delete Array.prototype.flat', /^it removes Array\.prototype\.flat,/],
    ["process.on('uncaughtException', () => {})", /^it listens to "uncaughtException"/],
  ]
  for (const [code, message] of bad) {
    const moments = {
      loading: `${code}\nexport default async () => {}`,
      registering: `export default async () => { ${code} }`,
    }
    for (const [when, main] of Object.entries(moments)) {
      await t.rejects(
        probeAll(t, [withCode(main), oneRoute('good', '')]),
        { module: 'bad', message },
        `${code}, ${when}`,
      )
    }
  }
})

t.test('routes are what the manifest says, with access, and nobody else’s', async (t) => {
  const route = (options: string) =>
    `export default async (app) => { app.get('/bad', ${options} async () => 1) }`
  const open = "{ config: { access: 'public' } },"
  const bad: [FixtureModule, RegExp][] = [
    [withCode(route(open)), /registers GET \/bad, which its manifest does not declare/],
    [withCode(route(open), 'GET /bad', 'POST /bad'), /declares POST \/bad, which it does not register/],
    [withCode(route(''), 'GET /bad'), /states no access/],
    [withCode(route("{ config: { access: '' } },"), 'GET /bad'), /access/],
    [withCode(route('{ config: { access: [] } },'), 'GET /bad'), /access/],
    [withCode(route(open).replace('/bad', '/good'), 'GET /good'), /GET.*\/good/],
    [withCode(route(open).replace('/bad', '/health/live'), 'GET /health/live'), /\/health\/live/],
  ]
  for (const [module, message] of bad) {
    await t.rejects(probeAll(t, [oneRoute('good', ''), module]), { module: 'bad', message })
  }
})

t.test('events are what the manifest says, and nobody else’s', async (t) => {
  const emitting = (id: string, emitted: string[], declared: string[], code = ''): FixtureModule => ({
    manifest: { id, events: declared },
    files: {
      'index.js': `import { defineModule } from '@mortise/module-sdk'
        const events = { ${emitted.map((type) => `'${type}': { type: 'object' }`)} }
        export default defineModule('${id}', { events }).plugin(async (app, context) => { ${code} })`,
    },
  })
  await probeAll(t, [emitting('bad', ['thing.done'], ['thing.done'])])
  const bad: [FixtureModule, RegExp][] = [
    [emitting('bad', ['thing.done'], []), /emits "thing.done", which its manifest does not declare/],
    [emitting('bad', [], ['thing.done']), /declares the events thing.done, which it does not emit/],
    [emitting('bad', ['good.done'], ['good.done']), /emits "good.done", as good does/],
    [emitting('bad', [], [], 'context.events'), /its manifest needs "listensTo": \["\*"\]/],
  ]
  const good = emitting('good', ['good.done'], ['good.done'])
  for (const [module, message] of bad) {
    await t.rejects(probeAll(t, [good, module]), { module: 'bad', message })
  }
})

t.test('migrations are tried, and keep to their prefix', async (t) => {
  const migrating = (sql: string): FixtureModule => ({
    manifest: { id: 'bad', tables: 'bad', migrations: 'migrations' },
    files: {
      'index.js': 'export default async () => {}',
      'migrations/001-bad.sql': sql,
      'migrations/001-bad.down.sql': 'DROP TABLE bad;',
    },
  })
  await probeAll(t, [migrating('CREATE TABLE bad (id TEXT PRIMARY KEY);')])
  await t.rejects(probeAll(t, [migrating('CREATE TABLE cart (id TEXT);')]), {
    module: 'bad',
    message: /cart/,
  })
  await t.rejects(probeAll(t, [migrating('CREATE TABLE;')]), { module: 'bad', message: /001-bad/ })
})

t.test('the environment of the process, and its secret, stay with the process', async (t) => {
  process.env.APP_SECRET = 'a secret that no module may see, ever'
  t.teardown(() => {
    delete process.env.APP_SECRET
  })
  const nosy = withCode(`export default async () => {
    if (JSON.stringify(process.env).includes('no module may see')) throw new Error('seen')
  }`)
  await probeAll(t, [nosy])
})
