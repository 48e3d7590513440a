import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { configFile, readLockFile, storedModule, writeLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
  temporaryFolder,
  uninstall,
} from '../../packages/application/test/application-folder.ts'
import { startProxy } from '../../packages/storage/test/postgres/proxy.ts'
import { Application } from '../src/application.ts'
import { callRunningHost } from '../src/control/call-running-host.ts'
import { controlSocket } from '../src/control/control-socket.ts'
import './built-children.ts'
import { testOnPostgres } from './engines.ts'

async function start(t: Test, directory: string): Promise<Application> {
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  return application
}

const ask = async (application: Application, path: string) => {
  const response = await fetch(application.url + path)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const activate = (directory: string) => callRunningHost(directory, 'activate')

/** A module with a table, whose route returns how many rows it has after it has added one. */
const counter = (id: string): FixtureModule => ({
  manifest: { id, routes: [`POST /${id}`], tables: id, migrations: 'migrations' },
  files: {
    'migrations/001-counter.sql': `CREATE TABLE ${id} (n INTEGER);`,
    'migrations/001-counter.down.sql': `DROP TABLE ${id};`,
    'index.js': `import { respond, one, run, sql } from '@mortise/module-sdk'
      export default async (app) => {
        app.post('/${id}', { config: { access: 'caller' } }, (request) =>
          request.transaction(function* () {
            yield* run(sql\`INSERT INTO ${id} (n) VALUES (1)\`)
            return respond(201, yield* one(sql\`SELECT count(*) AS rows FROM ${id}\`))
          }))
      }`,
  },
})

t.test(
  'a module that is installed serves at once, and is gone when it is removed; its data stay',
  async (t) => {
    const directory = await applicationFolder(t)
    const application = await start(t, directory)
    const post = async () => {
      const response = await fetch(`${application.url}/tally`, { method: 'POST' })
      return { status: response.status, body: await response.json() }
    }
    t.equal((await post()).status, 404)

    await install(t, directory, counter('tally'))
    t.match(await activate(directory), { generation: 1 })
    t.same(await post(), { status: 201, body: { rows: 1 } })
    t.match((await ask(application, '/')).body, {
      modules: [{ id: 'tally', version: '1.0.0', state: 'active' }],
    })
    t.match((await ask(application, '/openapi.json')).body, { paths: { '/tally': { post: {} } } })

    const installed = await readLockFile(directory)
    await uninstall(directory, 'tally')
    t.match(await activate(directory), { generation: 2 })
    t.equal((await post()).status, 404)

    await writeLockFile(directory, { ...installed, generation: 3 })
    await activate(directory)
    t.same(await post(), { status: 201, body: { rows: 2 } })
  },
)

t.test(
  'a change that fails to activate is refused with a reason, and the previous modules continue',
  async (t) => {
    const directory = await applicationFolder(t)
    await install(t, directory, oneRoute('note', 'old'))
    const application = await start(t, directory)
    const broken: FixtureModule = {
      version: '2.0.0',
      manifest: { id: 'note', routes: ['GET /note'] },
      files: { 'index.js': 'throw new Error("no luck")' },
    }
    await install(t, directory, broken)
    await t.rejects(activate(directory), { status: 409, message: /note: .*no luck/ })
    t.match(await ask(application, '/note'), { status: 200, body: { response: 'old' } })
    t.equal(application.state().generation, 1)
  },
)

t.test(
  'at boot a module that cannot be activated returns 503 under its routes, and all others serve',
  async (t) => {
    const failures: Record<string, string> = {
      throws: 'throw new Error("no luck")',
      late: 'export default async () => { throw new Error("no luck") }',
      half: "export default async (app) => { app.get('/half', { config: { access: 'public' } }, async () => 1); throw new Error('no luck') }",
      ready:
        "export default async (app) => { app.get('/ready', { config: { access: 'public' } }, async () => 1); app.addHook('onReady', async () => { throw new Error('no luck') }) }",
      open: "export default async (app) => { app.get('/open', async () => 1) }",
    }
    const directory = await applicationFolder(t)
    await install(t, directory, oneRoute('good', 'yes'))
    for (const [id, code] of Object.entries(failures)) {
      await install(t, directory, { manifest: { id, routes: [`GET /${id}`] }, files: { 'index.js': code } })
    }
    const application = await start(t, directory)
    t.match(await ask(application, '/good'), { status: 200, body: { response: 'yes' } })
    for (const id of Object.keys(failures)) {
      t.match(await ask(application, `/${id}`), { status: 503, body: { code: 'module-unavailable' } }, id)
      t.equal((await fetch(`${application.url}/${id}`, { method: 'POST' })).status, 405)
    }
    const states = Object.fromEntries(application.state().modules.map(({ id, state }) => [id, state]))
    t.same(states, {
      good: 'active',
      throws: 'failed',
      late: 'failed',
      half: 'failed',
      ready: 'failed',
      open: 'failed',
    })
    t.equal((await ask(application, '/health/ready')).status, 200)
  },
)

t.test('a package that changed in the store does not run', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', 'mine'))
  const locked = (await readLockFile(directory)).modules.note
  t.ok(locked)
  await writeFile(join(storedModule(directory, locked as never), 'index.js'), 'process.exit(1)')
  const application = await start(t, directory)
  t.match(await ask(application, '/note'), { status: 503 })
  t.match(application.state().modules[0]?.reason, /have changed since the installation/)
})

t.test('a changed lock file is activated after a probe', async (t) => {
  const directory = await applicationFolder(t)
  const application = await start(t, directory)
  await install(t, directory, oneRoute('note', 'from git'))
  while ((await ask(application, '/note')).status !== 200) await new Promise(setImmediate)
  t.equal(application.state().generation, 1)
})

t.test('a changed lock file with new migrations waits for a command', async (t) => {
  const directory = await applicationFolder(t)
  const application = await start(t, directory)
  await install(t, directory, counter('tally'))
  await t.rejects(application.installed.activate({ probed: false }), {
    message: /migration 001-counter of tally: run "app module-install", which takes a snapshot first/,
  })
  t.equal((await ask(application, '/tally')).status, 404)
  const { modules } = await readLockFile(directory)
  await callRunningHost(directory, 'migrate', { modules })
  t.equal(
    await application.installed.activate({ probed: false }),
    1,
    'once a command has migrated it is taken up',
  )
})

t.test('while a package is missing in the store, unknown paths return 503', async (t) => {
  const directory = await applicationFolder(t, { basePath: '/api' })
  await install(t, directory, oneRoute('note', 'here'), oneRoute('other', 'here'))
  const { note } = (await readLockFile(directory)).modules
  const place = storedModule(directory, note as never)
  await rename(place, `${place}-away`)
  const application = await start(t, directory)
  const unavailable = { status: 503, body: { code: 'module-unavailable', detail: /the routes of note/ } }
  t.match(await ask(application, '/note'), unavailable)
  t.match(await ask(application, '/anything'), unavailable)
  t.match(await ask(application, '/note/'), { status: 404 })
  t.equal((await fetch(new URL('/note', application.url))).status, 404, 'outside of the base path')
  t.equal((await ask(application, '/other')).status, 200)
  t.match(await ask(application, '/health/ready'), { status: 503, body: { detail: /missing.*: note$/ } })

  await rename(`${place}-away`, place)
  t.ok(await activate(directory))
  t.equal((await ask(application, '/note')).status, 503, 'nothing is tried again unasked')
  await callRunningHost(directory, 'activate', { again: true })
  t.match(await ask(application, '/note'), { status: 200, body: { response: 'here' } })
  t.equal((await ask(application, '/health/ready')).status, 200)
  t.equal((await ask(application, '/anything')).status, 404)
})

t.test('a new module gets the current settings, not those of the start', async (t) => {
  const directory = await applicationFolder(t)
  const application = await start(t, directory)
  const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
  await writeFile(configFile(directory), JSON.stringify({ ...config, modules: { greet: { word: 'hello' } } }))
  const greet: FixtureModule = {
    manifest: { id: 'greet', routes: ['GET /greet'], config: 'settings.json' },
    files: {
      'settings.json': '{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}',
      'index.js': `export default async (app, { settings }) => {
        app.get('/greet', { config: { access: 'public' } }, async () => settings)
      }`,
    },
  }
  await install(t, directory, greet)
  t.ok(await activate(directory))
  t.match(await ask(application, '/greet'), { status: 200, body: { word: 'hello' } })

  await writeFile(configFile(directory), JSON.stringify({ ...config, modules: { greet: { word: 3 } } }))
  await install(t, directory, { ...greet, version: '1.1.0' })
  await t.rejects(activate(directory), {
    status: 409,
    message: /"modules\.greet\.word" must be a string/,
  })
  t.match(await ask(application, '/greet'), { body: { word: 'hello' } })
})

t.test(
  'a module that served and fails with a change continues serving as it was, though it is the same',
  async (t) => {
    const directory = await applicationFolder(t)
    const config = JSON.parse(await readFile(configFile(directory), 'utf8'))
    const configure = (mood: string) =>
      writeFile(configFile(directory), JSON.stringify({ ...config, modules: { greet: { mood } } }))
    const nextGeneration = async () => {
      const lock = await readLockFile(directory)
      await writeLockFile(directory, { ...lock, generation: lock.generation + 1 })
      return activate(directory)
    }
    await configure('good')
    await install(t, directory, {
      manifest: { id: 'greet', routes: ['GET /greet'], config: 'settings.json' },
      files: {
        'settings.json': '{"type":"object","properties":{"mood":{"type":"string"}}}',
        'index.js': `export default async (app, { settings }) => {
        if (settings.mood === 'bad') throw new Error('not like this')
        app.get('/greet', { config: { access: 'public' } }, async () => settings)
      }`,
      },
    })
    const application = await start(t, directory)
    await configure('bad')
    await t.rejects(nextGeneration(), { status: 409, message: /greet: .*not like this/ })
    t.match(await ask(application, '/greet'), { status: 200, body: { mood: 'good' } })
    await configure('fine')
    t.ok(await nextGeneration())
    t.match(await ask(application, '/greet'), { status: 200, body: { mood: 'fine' } })
    t.equal(application.state().generation, 3)
  },
)

t.test('a module that failed at the start blocks no other change', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, {
    manifest: { id: 'broken', routes: ['GET /broken'] },
    files: { 'index.js': 'throw new Error("no luck")' },
  })
  const application = await start(t, directory)
  await install(t, directory, oneRoute('note', 'yes'))
  t.ok(await activate(directory))
  t.match(await ask(application, '/note'), { status: 200 })
  t.match(await ask(application, '/broken'), { status: 503 })
})

t.test('a second host of one application is refused', async (t) => {
  const directory = await applicationFolder(t)
  const application = await start(t, directory)
  await t.rejects(Application.start({ directory, environment: {} }), { name: 'StorageBusyError' })
  t.equal((await ask(application, '/health/live')).status, 200)
})

t.test('a port in use is an error, and nothing stays open', async (t) => {
  const first = await start(t, await applicationFolder(t))
  const directory = await applicationFolder(t)
  const { port } = new URL(first.url)
  await t.rejects(Application.start({ directory, port: Number(port), environment: {} }), {
    code: 'EADDRINUSE',
  })
  await start(t, directory)
})

t.test(
  'the control socket works in folders deeper than a socket path may be, and goes with the host',
  async (t) => {
    const directory = join(await temporaryFolder(t), 'deep'.repeat(30))
    await cp(await applicationFolder(t), directory, { recursive: true })
    const application = await start(t, directory)
    const state = await callRunningHost(directory, 'state')
    t.match(state, { pid: process.pid, generation: 0, modules: [] })
    t.match(await callRunningHost(directory, 'openapi'), { openapi: '3.1.0' })
    await application.close()
    t.notOk(existsSync(controlSocket(directory)))
    t.equal(await callRunningHost(directory, 'state'), undefined)
  },
)

t.test('stop() finishes requests in progress, accepts no new ones, and resolves closed', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, {
    manifest: { id: 'slow', routes: ['GET /slow'] },
    files: {
      'index.js': `export default async (app) => {
        app.get('/slow', { config: { access: 'public' } }, async () => {
          process.emit('slow-begun')
          await new Promise((resolve) => process.once('slow-release', resolve))
          return { done: true }
        })
      }`,
    },
  })
  const application = await start(t, directory)
  const slow = fetch(`${application.url}/slow`)
  await once(process, 'slow-begun')
  const stopped = application.close()
  t.equal(application.close(), stopped, 'stopping twice is stopping once')
  await t.rejects(fetch(`${application.url}/`))
  process.emit('slow-release' as never)
  t.match(await slow, { status: 200 })
  t.equal((await slow).headers.get('connection'), 'close')
  await stopped
  await application.closed
  t.equal((await readFile(join(directory, 'data', 'app.db'))).length > 0, true)
})

/** An application whose `POST /slow` responds when `release` is called. */
async function slowApplication(t: Test) {
  const directory = await applicationFolder(t)
  await install(t, directory, {
    manifest: { id: 'slow', routes: ['POST /slow'] },
    files: {
      'index.js': `export default async (app) => {
        app.post('/slow', { config: { access: 'public' } }, async () => {
          process.emit('slow-begun')
          await new Promise((resolve) => process.once('slow-release', resolve))
          return { done: true }
        })
      }`,
    },
  })
  const application = await start(t, directory)
  const begun = once(process, 'slow-begun')
  const slow = fetch(`${application.url}/slow`, { method: 'POST' })
  await begun
  return { directory, application, slow, release: () => process.emit('slow-release' as never) }
}

t.test('a drain: not ready, but requests are taken, a change too; `close` ends it', async (t) => {
  const { directory, application, slow, release } = await slowApplication(t)
  const stopped = application.stop('SIGTERM', 3600)
  t.equal(application.stop('SIGTERM', 0), stopped, 'stopping twice is stopping once')
  t.match(await ask(application, '/health/ready'), { status: 503, body: { code: 'not-ready' } })
  t.match(await ask(application, '/health/live'), { status: 200 })
  await install(t, directory, oneRoute('note', 'new'))
  t.ok(await activate(directory))
  t.match(await ask(application, '/note'), { status: 200, body: { response: 'new' } })
  t.match(await ask(application, '/health/ready'), { status: 503 })
  t.equal(application.close(), stopped)
  release()
  t.match(await slow, { status: 200 })
  await stopped
  await application.closed
})

t.test('cut() ends requests in progress and the application', async (t) => {
  const { application, slow } = await slowApplication(t)
  const stopped = application.stop('SIGINT', 3600)
  const failed = t.rejects(slow)
  await application.cut()
  await Promise.all([failed, stopped, application.closed])
})

t.test('an aborted start leaves nothing open', async (t) => {
  const directory = await applicationFolder(t)
  const abort = new AbortController()
  const started = Application.start({ directory, environment: {}, signal: abort.signal })
  const reason = new Error('on second thought')
  abort.abort(reason)
  await t.rejects(started, reason)
  t.notOk(existsSync(controlSocket(directory)))
  await start(t, directory)
})

testOnPostgres(
  'while PostgreSQL is away the host says so, stays alive, and serves again by itself',
  async (t, _open, url) => {
    const proxy = await startProxy(t, url)
    const directory = await applicationFolder(t, { database: proxy.url })
    await install(t, directory, counter('tally'))
    const application = await start(t, directory)
    const post = () => fetch(`${application.url}/tally`, { method: 'POST' })
    t.same(await (await post()).json(), { rows: 1 })
    t.equal((await ask(application, '/health/ready')).status, 200)

    await proxy.cut()
    const refused = await post()
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('retry-after'), '1')
    t.match(await refused.json(), { code: 'database-unavailable' })
    const ready = await ask(application, '/health/ready')
    t.match(ready, { status: 503, body: { code: 'not-ready', detail: 'the database cannot be reached' } })
    t.equal((await ask(application, '/health/live')).status, 200)

    await proxy.repair()
    while ((await ask(application, '/health/ready')).status !== 200) await nextTurn()
    t.same(await (await post()).json(), { rows: 2 })
  },
)

testOnPostgres('two hosts of one PostgreSQL see what the other writes', async (t, _open, url) => {
  const hosts: Application[] = []
  for (const _host of [1, 2]) {
    const directory = await applicationFolder(t, { database: url })
    await install(t, directory, counter('tally'))
    hosts.push(await start(t, directory))
  }
  const rows: unknown[] = []
  for (const host of [...hosts, ...hosts]) {
    rows.push(await (await fetch(`${host.url}/tally`, { method: 'POST' })).json())
  }
  t.same(
    rows,
    [1, 2, 3, 4].map((rows) => ({ rows })),
  )
})
