import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { respondVersion, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { copiesOf } from '../run-app.ts'
import { door, type StartOptions, startApp } from '../run-process.ts'

/** Makes this Node say that it is another one, so that the door continues in a second process. */
const old = `--import=data:text/javascript,${encodeURIComponent("Object.defineProperty(process.versions,'node',{value:'18.20.0'})")}`

/** `POST /slow` says that it has begun, and responds after SIGUSR2. With HOLD_START loading continues until SIGUSR2. */
const prepared = copiesOf(async ({ root, run }) => {
  const slow = await sampleTarball(join(root, 'slow.tgz'), {
    id: 'slow',
    manifest: { routes: ['GET /slow', 'POST /slow', 'POST /slow/read'] },
    plugin: `const released = () => new Promise((resolve) => process.once('SIGUSR2', resolve))
      if (process.env.HOLD_START) {
        const timer = setInterval(() => {}, 1000)
        const held = released()
        console.error('start is held')
        await held
        clearInterval(timer)
      }
      ${respondVersion('slow', '1.0.0')}
      app.post('/slow', { config: { access: 'public' } }, async () => {
        const held = released()
        console.error('slow has begun')
        await held
        return { done: true }
      })
      const { sql } = await import('@mortise/module-sdk')
      app.post('/slow/read', { config: { access: 'public' } }, () => context.database.one(sql\`
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT max(i) AS last FROM n\`))`,
  })
  const installed = await run('module-install', '--yes', slow)
  if (installed.exitCode !== 0) throw new Error(installed.stdout)
})

async function serve(t: Test, nodeOptions: readonly string[] = [], options?: StartOptions) {
  const { directory } = await prepared(t)
  const argv = ['start', '--port', '0', '--json', '--dir', directory]
  const host = startApp(t, argv, nodeOptions, door, options)
  await host.says(/"url"[^}]*\}\s*\]\s*,\s*"workers": \[\]\s*\}/)
  const { pid, url } = JSON.parse(host.stdout) as { pid: number; url: string }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  return {
    host,
    directory,
    pid,
    url,
    /** Asks on a connection of its own, or on the one that is kept. */
    async ask(path: string, { method = 'GET', kept = false } = {}) {
      const sent = request(url + path, { method, ...(kept ? { agent } : { agent: false }) }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const { statusCode: status, headers } = response
      return { status, connection: headers.connection, body: JSON.parse(await text(response)) }
    },
  }
}

const leftovers = async (directory: string) =>
  (await readdir(join(directory, '.app'))).filter((name) => /\.sock$|owner/.test(name))

/** What its log says, in order. */
const logged = ({ stderr }: { stderr: string }, what: RegExp) =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => what.test(msg))

t.test('at SIGTERM the host is first not ready while requests succeed, then it ends', async (t) => {
  const environment = { APP_SERVER_DRAIN_SECONDS: '3' }
  const { host, directory, ask, pid } = await serve(t, [], { environment })
  t.equal((await ask('/health/ready', { kept: true })).status, 200)
  const slow = ask('/slow', { method: 'POST' })
  await host.says(/slow has begun/)
  host.child.kill('SIGTERM')
  await host.says(/stopping/)
  for (const kept of [false, true]) {
    t.match(await ask('/health/ready', { kept }), {
      status: 503,
      body: { code: 'not-ready', detail: 'the host is shutting down' },
    })
    t.match(await ask('/health/live', { kept }), { status: 200 })
    t.match(await ask('/slow', { kept }), { status: 200, body: { version: '1.0.0' } })
  }
  t.equal((await ask('/slow', { kept: true })).connection, 'keep-alive')
  let taken = true
  while (taken) taken = await ask('/health/live').then(Boolean, () => false)
  process.kill(pid, 'SIGUSR2')
  t.match(await slow, { status: 200, connection: 'close', body: { done: true } })
  t.equal(await host.ended, 0)
  t.match(logged(host, /^stopping/), [{ signal: 'SIGTERM', drainSeconds: 3 }])
  const [stopped] = logged(host, /^stopped/)
  t.match(stopped, { cut: 0 })
  t.ok(stopped.finished >= 8, `${stopped.finished} finished`)
  t.strictSame(await leftovers(directory), [])
})

for (const [name, options] of [
  ['directly', []],
  ['through the door', [old]],
] as const) {
  t.test(`a signal to the process group, ${name}, is one stop`, async (t) => {
    const { host, directory, ask } = await serve(t, options, { detached: true })
    const slow = ask('/slow', { method: 'POST' })
    await host.says(/slow has begun/)
    const group = -(host.child.pid as number)
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) process.kill(group, signal)
    await host.says(/stopping/)
    process.kill(group, 'SIGTERM')
    let taken = true
    while (taken) taken = await ask('/health/live').then(Boolean, () => false)
    process.kill(group, 'SIGTERM')
    host.child.kill('SIGTERM')
    t.equal(host.child.exitCode, null, 'it waits for what is in flight')
    const { pid } = JSON.parse(host.stdout)
    process.kill(pid, 'SIGUSR2')
    t.match(await slow, { status: 200 })
    t.equal(await host.ended, 0)
    t.match(logged(host, /^stopp/), [{ signal: /^SIG(TERM|INT)$/ }, { finished: Number, cut: 0 }])
    t.strictSame(await leftovers(directory), [])
  })
}

t.test('a read that held all callers up is named once, with what to do', async (t) => {
  const { host, ask } = await serve(t)
  for (let time = 0; time < 2; time += 1)
    t.match(await ask('/slow/read', { method: 'POST' }), { status: 200, body: { last: 2_000_000 } })
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  const statement = /WITH RECURSIVE n/
  t.match(logged(host, /\{ long: true \}/), [{ level: 40, statement, milliseconds: Number }])
  t.equal(logged(host, /\{ long: true \}/).length, 1)
})

t.test('a signal right after the start is a normal stop', async (t) => {
  const { directory } = await prepared(t)
  for (let round = 0; round < 3; round += 1) {
    const host = startApp(t, ['start', '--port', '0', '--dir', directory])
    await host.says(/generation \d+ serves/)
    host.child.kill('SIGTERM')
    t.equal(await host.ended, 0, host.stderr)
    t.strictSame(await leftovers(directory), [])
  }
})

t.test('a signal during the start ends it and leaves nothing behind', async (t) => {
  const { directory } = await prepared(t)
  const argv = ['start', '--no-supervisor', '--port', '0', '--json', '--dir', directory]
  const host = startApp(t, argv, [], door, { environment: { HOLD_START: '1' } })
  await host.says(/start is held/)
  host.child.kill('SIGTERM')
  host.child.kill('SIGUSR2')
  t.equal(await host.ended, 0, host.stderr)
  t.strictSame(JSON.parse(host.stdout), { stopped: 'SIGTERM' })
  t.strictSame(await leftovers(directory), [])
  const again = startApp(t, argv)
  await again.says(/"url"/)
})

for (const [name, options] of [
  ['of the host', []],
  ['of the door', [old]],
] as const) {
  t.test(`SIGUSR1 does not open the debugger ${name}`, async (t) => {
    const { host, pid, ask } = await serve(t, options)
    process.kill(pid, 'SIGUSR1')
    host.child.kill('SIGUSR1')
    t.equal((await ask('/slow')).status, 200)
    host.child.kill('SIGTERM')
    t.equal(await host.ended, 0)
    t.notMatch(host.stderr, /debugger/i)
  })
}

const hasScript = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0
t.test(
  'the first Ctrl-C on a terminal stops without a drain delay; the second one cuts off open requests',
  { skip: !hasScript && 'there is no script(1)' },
  async (t) => {
    const { directory } = await prepared(t)
    const command = `exec "${process.execPath}" "${door}" start --port 0 --dir "${directory}"`
    const { APP_SERVER_DRAIN_SECONDS: _, ...env } = process.env
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env })
    t.teardown(() => child.kill('SIGKILL'))
    const ended = once(child, 'close')
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      said += more
    })
    const says = async (what: RegExp) => {
      while (!what.test(said)) {
        const hasEnded = await Promise.race([once(child.stdout, 'data').then(() => false), ended])
        if (hasEnded && !what.test(said)) throw new Error(`ended without saying ${what}: ${said}`)
      }
    }
    await says(/Serving (\S+)\r?\n/)
    const url = /Serving (\S+)/.exec(said)?.[1]
    const slow = request(`${url}/slow`, { method: 'POST' }).end()
    const cut = once(slow, 'response').then(
      () => 'responded',
      () => 'cut off',
    )
    await says(/slow has begun/)
    child.stdin.write('\x03')
    await says(/Stopping: .*Ctrl-C/)
    await says(/stopping: SIGINT, the host accepts no more requests/)
    child.stdin.on('error', () => {}) // it has ended
    const press = setInterval(() => child.stdin.write('\x03'), 300)
    const [code] = await ended
    clearInterval(press)
    t.equal(code, 0, said)
    t.equal(await cut, 'cut off')
    t.match(said, /0 requests finished, 1 cut off/)
    t.strictSame(await leftovers(directory), [])
  },
)
