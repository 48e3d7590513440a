import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { readConfig } from '@mortise/application'
import t, { type Test } from 'tap'
import { type ProbeOptions, probe } from '../../src/generations/run-probe.ts'
import '../built-children.ts'
import {
  applicationFolder,
  type FixtureModule,
  modulePackage,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'

async function probeAll(t: Test, modules: FixtureModule[], options: ProbeOptions = {}) {
  const config = await readConfig(await applicationFolder(t), {})
  const probed = []
  for (const module of modules)
    probed.push({ id: module.manifest.id, directory: await modulePackage(t, module) })
  return probe(config, probed, options)
}

/** A module whose entry is `code`. */
const withCode = (code: string): FixtureModule => ({
  manifest: { id: 'bad' },
  files: { 'index.js': code },
})

t.test('modules that would serve together pass', async (t) => {
  await probeAll(t, [oneRoute('one', '1'), oneRoute('two', '2')])
  await probeAll(t, [])
})

t.test('a module that throws, exits or kills itself is named with the reason', async (t) => {
  const bad: [string, FixtureModule, RegExp][] = [
    ['throws no Error', withCode('throw null'), /null/],
    [
      'throws when ready',
      withCode(
        'export default async (app) => { app.addHook("onReady", async () => { throw new Error("ready") }) }',
      ),
      /ready/,
    ],
    ['exits while loading', withCode('process.exit(0)'), /ended with exit code 0 while it was loading/],
    ['exits while registering', withCode('export default async () => process.exit(3)'), /exit code 3/],
    ['kills itself', withCode('process.kill(process.pid, "SIGKILL")'), /killed by SIGKILL/],
  ]
  for (const [what, module, message] of bad) {
    await t.rejects(probeAll(t, [oneRoute('good', ''), module]), { module: 'bad', message }, what)
  }
})

t.test('a module failure has its location in the module, and the stack as cause', async (t) => {
  const bad: [string, FixtureModule, RegExp][] = [
    ['throws', withCode('\n\nthrow new Error("no luck")'), /: no luck \(index\.js:3\)$/],
    ['is no JavaScript', withCode('\nexport default async ('), /Unexpected.*\(index\.js:2\)$/],
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
    await t.rejects(
      probeAll(t, [oneRoute('good', ''), module]),
      { module: 'bad', message, cause: { stack: /index\.js/ } },
      what,
    )
  }
})

/** Blocks the event loop, and leaves the processor to the other tests. */
const sleep = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)'

t.test('a probe that never finishes is killed with its child processes', async (t) => {
  const endless: [string, string][] = [
    ['blocks while registering', `export default async () => { for (;;) ${sleep} }`],
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

t.test('a module in the probe starts no process and writes only to its scratch folder', async (t) => {
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

t.test('a module in the probe reads nothing of the application, and reaches nobody', async (t) => {
  const folder = await applicationFolder(t)
  const files = { secret: join(folder, '.app', 'secret'), data: join(folder, 'data', 'app.db') }
  await mkdir(join(folder, '.app'), { recursive: true })
  await mkdir(join(folder, 'data'), { recursive: true })
  for (const file of Object.values(files)) await writeFile(file, 'kept')
  const listener = createServer().listen(0, '127.0.0.1')
  t.teardown(() => listener.close())
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  let reached = 0
  listener.on('connection', () => {
    reached += 1
  })
  const sqlite = JSON.stringify(createRequire(import.meta.url).resolve('better-sqlite3'))
  const tries = `
    const { createRequire } = process.getBuiltinModule('node:module')
    const load = createRequire(${sqlite})
    const fs = load('node:fs'), net = load('node:net'), dns = load('node:dns')
    const connect = (...to) => new Promise((done, fail) => net.connect(...to).once('connect', done).once('error', fail))
    const tries = {
      secret: () => fs.readFileSync(${JSON.stringify(files.secret)}),
      data: () => fs.readdirSync(${JSON.stringify(dirname(files.data))}),
      parent: () => fs.readFileSync('/proc/' + process.ppid + '/environ'),
      own: () => fs.readFileSync('/proc/self/environ'),
      sqlite: () => new (load('better-sqlite3'))(${JSON.stringify(files.data)}),
      attached: () => new (load('better-sqlite3'))(':memory:').exec("ATTACH ${JSON.stringify(files.data).slice(1, -1)} AS a"),
      builtin: () => load('node:sqlite'),
      port: () => connect(${port}, '127.0.0.1'),
      socket: () => connect(${JSON.stringify(join(folder, '.app', 'control.sock'))}),
      name: () => dns.promises.lookup('localhost'),
      datagram: () => load('node:dgram').createSocket('udp4').send('x', ${port}, '127.0.0.1'),
      signal: () => process.kill(process.ppid, 0),
      addon: () => process.dlopen({ exports: {} }, '/none.node'),
      outside: () => fs.writeFileSync(${JSON.stringify(join(folder, 'outside'))}, ''),
      process: () => load('node:child_process').spawnSync('true'),
      pipe: () => {
        if (net._createServerHandle(${JSON.stringify(join(folder, 'pipe'))}, -1, -1) === undefined) throw new Error('none')
      },
      hooks: () => load('node:module').register('data:text/javascript,'),
    }
    const done = []
    const trial = (async () => {
      for (const [name, attempt] of Object.entries(tries)) await Promise.resolve().then(attempt).then(() => done.push(name), () => {})
      return done
    })()`
  const code = `
    import { Worker } from 'node:worker_threads'
    ${tries}
    const found = await trial
    const script = ${JSON.stringify(`${tries}
      trial.then((done) => process.getBuiltinModule('node:worker_threads').parentPort.postMessage(done))`)}
    class Other extends Worker {}
    const parts = Object.getOwnPropertySymbols(new Worker('', { eval: true })).length
    for (const Kind of [Worker, Other, new Worker('', { eval: true }).constructor]) {
      const thread = new Kind(script, { eval: true, execArgv: [], env: {} })
      found.push(...(await new Promise((done, fail) => thread.once('message', done).once('error', fail))))
    }
    if (found.length > 0 || parts === 0) throw new Error('it got: ' + found)
    export default async () => {}
  `
  await t.resolves(probeAll(t, [withCode(code)]))
  t.equal(reached, 0)
  t.notOk(existsSync(join(folder, 'outside')))
  t.notOk(existsSync(join(folder, 'pipe')))
})

t.test('the probe allows what honest modules do', async (t) => {
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
  const bad: [code: string, message: RegExp][] = [
    ['JSON.parse = () => 1\nexport default async () => {}', /^it replaces JSON\.parse,/],
    [
      'export default async () => { Object.prototype.shout = 1 }',
      /^it adds Object\.prototype\.shout, for the host and all modules$/,
    ],
  ]
  for (const [code, message] of bad) {
    await t.rejects(probeAll(t, [withCode(code), oneRoute('good', '')]), { module: 'bad', message }, code)
  }
})

t.test('a stream has responded once it has begun, and is left', async (t) => {
  const streams: FixtureModule = {
    manifest: { id: 'ticker', routes: ['GET /ticker/sent', 'GET /ticker/raw', 'GET /ticker/never'] },
    files: {
      'index.js': `import { Readable } from 'node:stream'
        const config = { access: 'public' }
        export default async (app) => {
          let open = 0
          app.get('/ticker/sent', { config }, (request, reply) => {
            open += 1
            const stream = new Readable({ read() {}, destroy(error, done) { open -= 1; done(error) } })
            stream.push(':\\n\\n')
            reply.header('content-type', 'text/event-stream').send(stream)
          })
          app.get('/ticker/raw', { config }, (request, reply) => {
            if (open > 0) throw new Error('the probe has not left the other stream')
            reply.hijack()
            reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
            const timer = setInterval(() => reply.raw.write(':\\n\\n'), 5)
            reply.raw.once('close', () => clearInterval(timer))
          })
          app.get('/ticker/never', { config }, () => new Promise(() => {}))
        }`,
    },
  }
  await t.rejects(probeAll(t, [streams], { ask: ['ticker'] }), {
    module: 'ticker',
    message: /its route GET \/ticker\/never does not respond within 5 s/,
  })
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
