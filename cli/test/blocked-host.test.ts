import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { copiesWithHarm, started } from './late-modules.ts'
import type { TestApplication } from './run-app.ts'

// Half a minute of waiting at most, side by side: most of it is `host.blockedSeconds`, here 1.
process.env.APP_HOST_BLOCKED_SECONDS = '1'
process.env.NODE_OPTIONS = '--max-old-space-size=512'

const collect = `process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc')
    const collect = process.getBuiltinModule('node:vm').runInNewContext('gc')`

/** Code by name that keeps the main thread, and after how many seconds it returns. */
const blocks = {
  loop: 'for (;;) {}',
  microtasks: 'for (;;) await null',
  promises: 'const next = () => { Promise.resolve().then(next) }; next()',
  ticks: 'const next = () => process.nextTick(next); next()',
  waits: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  regex: `/^(a+)+$/.test('a'.repeat(60) + 'b')`,
  native: `const { pbkdf2Sync } = process.getBuiltinModule('node:crypto')
    for (;;) pbkdf2Sync('a', 'b', 400_000, 64, 'sha512')`,
  /** The collector takes most of its time, and V8 interrupts no loop that calls only built-in functions. */
  grows: `${collect}
    const kept = Array.from({ length: 13 }, (_, index) => Array(1_000_000).fill(index + 0.5))
    const again = () => { collect() }
    while (kept.length > 0) again()`,
}

const innocent = {
  short: 'const end = Date.now() + 500; while (Date.now() < end);',
  /** The library that collects: no one look finds the same module twice with the collector idle. */
  collects: `const kept = []; const end = Date.now() + 3_000
    ${collect}
    for (let at = 0; at < 2e5; at += 1) kept.push({ at })
    while (Date.now() < end) collect()`,
  inspected: "process.getBuiltinModule('node:inspector').open(0)",
  /** It stops here if a debugger is attached. */
  debugged: 'debugger',
  sleeps: 'await new Promise((done) => setTimeout(done, 2_500))',
}

/** In milliseconds, and beyond the limit. */
const SLOW = 3_000

/** Options of node with which SQLite waits for its disk at each COMMIT, as long as the file `flag` is there. */
function slowDisk(flag: string): string[] {
  const preload = `
    import { existsSync } from 'node:fs'
    import { createRequire } from 'node:module'
    const Database = createRequire(${JSON.stringify(import.meta.url)})('better-sqlite3')
    const { prepare } = Database.prototype
    Database.prototype.prepare = function (text) {
      const statement = prepare.call(this, text)
      if (text !== 'COMMIT' || !this.name.endsWith('app.db')) return statement
      const run = statement.run.bind(statement)
      statement.run = () => {
        const isSlow = existsSync(${JSON.stringify(flag)})
        if (isSlow) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${SLOW})
        return run()
      }
      return statement
    }`
  return ['--import', `data:text/javascript,${encodeURIComponent(preload)}`]
}

const copies = copiesWithHarm({ ...blocks, ...innocent })

async function endsOf({ directory }: TestApplication) {
  const folder = join(directory, '.app', 'ends')
  const names = await readdir(folder).catch(() => [])
  return await Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'))))
}

/** Attaches a debugger to the process of a host. */
async function attach(t: Test, host: Awaited<ReturnType<typeof started>>) {
  const listens = /Debugger listening on (ws:\S+)/
  await fetch(`${host.url}/hello`, { headers: { with: 'inspected' } })
  await host.says(listens)
  const [, url = ''] = listens.exec(host.stderr) ?? []
  const socket = new WebSocket(url)
  t.teardown(() => socket.close())
  await once(socket, 'open')
  let id = 0
  const send = (method: string) => socket.send(JSON.stringify({ id: ++id, method }))
  send('Debugger.enable')
  const event = (name: string) =>
    new Promise<void>((resolve) => {
      socket.addEventListener('message', ({ data }) => {
        if (JSON.parse(data).method === name) resolve()
      })
    })
  return { send, event }
}

for (const name of Object.keys(blocks)) {
  t.test(`a module that blocks the host ends it: ${name}`, async (t) => {
    const application = await copies(t)
    const host = await started(t, application)
    const begun = performance.now()
    fetch(`${host.url}/hello`, { headers: { with: name } }).catch(() => {})
    t.equal(await host.ended, 'SIGKILL')
    t.ok(performance.now() - begun < 20_000)
    t.match(host.stderr, /The host ends: hello has blocked the event loop for \d s, at index\.js:\d+\./)
    t.match(await endsOf(application), [
      { module: 'hello', folder: /^@acme\+hello@1\.0\.0-/, reason: /hello has blocked/, at: Number },
    ])
  })
}

t.test('nobody is blamed', async (t) => {
  const application = await copies(t)
  t.match(await application.run('module-install', 'api-cart'), { exitCode: 0 })
  const flag = join(application.root, 'slow')
  const host = await started(t, application, slowDisk(flag))
  for (const name of ['short', 'collects', 'sleeps']) {
    await t.test(`for what ${name}`, async (t) => {
      t.equal((await fetch(`${host.url}/hello`, { headers: { with: name } })).status, 200)
      t.equal((await fetch(`${host.url}/other`)).status, 200)
    })
  }
  await t.test('for a process that was stopped', async (t) => {
    host.child.kill('SIGSTOP')
    await pause(SLOW)
    host.child.kill('SIGCONT')
    t.equal((await fetch(`${host.url}/other`)).status, 200)
  })
  await t.test('for a slow disk, on which a module waits for its transaction', async (t) => {
    await writeFile(flag, '')
    const begun = performance.now()
    const response = await fetch(`${host.url}/cart/item`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ product: 'tea', quantity: 1 }),
    })
    t.equal(response.status, 201)
    t.ok(performance.now() - begun > SLOW)
    await rm(flag)
    t.equal((await fetch(`${host.url}/other`)).status, 200)
  })
  await t.test('for a debugger that holds the process in its code', async (t) => {
    const { send, event } = await attach(t, host)
    const response = fetch(`${host.url}/hello`, { headers: { with: 'debugged' } })
    await event('Debugger.paused')
    await pause(SLOW)
    send('Debugger.resume')
    t.equal((await response).status, 200)
  })
  t.strictSame(await endsOf(application), [])
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
})
