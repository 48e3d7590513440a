import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { callRunningHost } from '@mortise/host'
import t from 'tap'
import { testApplication } from './run-app.ts'
import { door, startApp } from './run-process.ts'
import { sampleTarball } from './sample-module.ts'

/** Makes this Node say that it is another one: what the door sees of a machine with an old Node. */
const old = `--import=data:text/javascript,${encodeURIComponent("Object.defineProperty(process.versions,'node',{value:'18.20.0'})")}`

t.test('the exit code and the output are those of the command', async (t) => {
  const { directory } = await testApplication(t)
  const good = startApp(t, ['module-list', '--json', '--dir', directory])
  t.equal(await good.ended, 0)
  t.strictSame(JSON.parse(good.stdout).modules, [])
  const bad = startApp(t, ['module-info', 'nothing', '--dir', directory])
  t.equal(await bad.ended, 3)
  t.equal(bad.stdout, '')
})

t.test('on a Node that is too old it continues on the pinned one, with its exit code', async (t) => {
  const { directory } = await testApplication(t)
  const listed = startApp(t, ['module-list', '--json', '--dir', directory], [old])
  t.equal(await listed.ended, 0, listed.stderr)
  t.strictSame(JSON.parse(listed.stdout).modules, [])
  t.equal(await startApp(t, ['module-info', 'nothing', '--dir', directory], [old]).ended, 3)
})

t.test('where there is no pinned Node it says which ones it takes', async (t) => {
  const folder = t.testdir({ 'package.json': '{"type":"module"}' })
  await cp(door, join(folder, 'bin.js'))
  const { status, stdout, stderr } = spawnSync(process.execPath, [old, join(folder, 'bin.js')], {
    encoding: 'utf8',
  })
  // The checkout's own pinned Node is above this folder, so it continues there, and then misses the build.
  t.equal(status, 1)
  t.equal(stdout, '')
  t.match(stderr, /npm run build/)
})

t.test('a checkout that is not built says how to build it, in JSON as well', async (t) => {
  const folder = t.testdir({ 'package.json': '{"type":"module"}' })
  await cp(door, join(folder, 'bin.js'))
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'bin.js'), '--json'], {
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(JSON.parse(stdout).error, { exitCode: 1, message: /not built/, hint: /npm run build/ })
})

t.test('the door accepts exactly the engines of package.json', async (t) => {
  const { engines } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
  const text = await readFile(door, 'utf8')
  t.match(text, `/** ${engines.node}, the`)
})

for (const [name, options] of [
  ['directly', []],
  ['through the door', [old]],
] as const) {
  t.test(`app start, ${name}: serves, says where, and stops in good order at SIGTERM`, async (t) => {
    const { root, directory, run } = await testApplication(t)
    await run('module-install', await sampleTarball(join(root, 'hello.tgz')))
    const host = startApp(t, ['start', '--port', '0', '--dir', directory], options)
    await host.says(/Serving http:\S+/)
    t.match(host.stdout, /hello 1\.0\.0/)
    const url = /http:\S+/.exec(host.stdout)?.[0]
    t.match(await (await fetch(`${url}/hello`)).json(), { version: '1.0.0' })

    const second = startApp(t, ['start', '--port', '0', '--dir', directory])
    t.equal(await second.ended, 1)
    t.match(second.stderr, `serves ${url}.`)
    if (name === 'directly') t.match(second.stderr, `running already: process ${host.child.pid} `)
    t.equal(second.stderr.trim().split('\n').length, 2, 'said once, and what to do')

    host.child.kill('SIGTERM')
    t.equal(await host.ended, 0)
    await t.rejects(fetch(`${url}/hello`))
  })
}

t.test('when the door is killed, the host behind it dies with it and its locks are free', async (t) => {
  const { directory } = await testApplication(t)
  const host = startApp(t, ['start', '--port', '0', '--json', '--dir', directory], [old])
  await host.says(/"url"/)
  const { pid } = JSON.parse(host.stdout)
  t.not(pid, host.child.pid)
  host.child.kill('SIGKILL')
  await host.ended // its output is closed by both processes
  const again = startApp(t, ['start', '--port', '0', '--json', '--dir', directory])
  await again.says(/"url"/)
})

t.test('a port that is taken is a clear failure', async (t) => {
  const { directory } = await testApplication(t)
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const host = startApp(t, ['start', '--port', String(port), '--json', '--dir', directory])
  t.equal(await host.ended, 1)
  t.match(JSON.parse(host.stdout).error, {
    code: 'port-in-use',
    message: `Port ${port} of 127.0.0.1 is taken by another program.`,
    hint: /--port/,
  })
  t.equal(await startApp(t, ['start', '--port', '99999', '--dir', directory]).ended, 2)
})

t.test('a reader that stops reading is no failure', async (t) => {
  const { directory } = await testApplication(t)
  const command = `"${process.execPath}" "${door}" openapi --dir "${directory}" | head -c 10`
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
  t.equal(stdout.length, 10)
  t.equal(stderr, '')
})

t.test('the nearest application upwards is meant', async (t) => {
  const { directory } = await testApplication(t)
  const below = join(directory, 'a', 'b')
  await mkdir(below, { recursive: true })
  const { status, stdout } = spawnSync(process.execPath, [door, 'module-list', '--json'], {
    cwd: below,
    encoding: 'utf8',
  })
  t.equal(status, 0)
  t.strictSame(JSON.parse(stdout).modules, [])
})

t.test('a start that makes a new secret says what that means', async (t) => {
  const { directory } = await testApplication(t)
  const silent = startApp(t, ['start', '--port', '0', '--dir', directory])
  await silent.says(/Serving/)
  t.notMatch(silent.stderr, /secret/)
  silent.child.kill('SIGTERM')
  await silent.ended
  await rm(join(directory, '.app', 'secret'))
  const host = startApp(t, ['start', '--new-secret', '--port', '0', '--dir', directory])
  await host.says(/Serving/)
  t.match(host.stderr, /new secret.*no longer hold/)
})

const noFull = !existsSync('/dev/full') && 'there is no /dev/full'

t.test('a host serves where neither stdout nor its log has room', { skip: noFull }, async (t) => {
  const { directory } = await testApplication(t)
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const child = spawn(process.execPath, [door, 'start', '--port', '0', '--dir', directory], {
    stdio: ['ignore', full, full],
  })
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const state = () => callRunningHost(directory, 'state')
  let url: string | undefined
  while (child.exitCode === null && !url) url = (await state())?.url
  t.equal((await fetch(`${url}/nothing`)).status, 404)
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

t.test('what stdout has no room for is told, and is no success', { skip: noFull }, async (t) => {
  const { directory } = await testApplication(t)
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const { status, stderr } = spawnSync(process.execPath, [door, 'module-list', '--dir', directory], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(stderr, /stdout could not be written: ENOSPC/)
})

t.test('a command that waits for what never comes ends with exit code 1, and says so', async (t) => {
  const waiting = 'data:text/javascript,export const app = () => new Promise(() => {})'
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) =>
      /^\\.\\/app\\.[jt]s$/.test(name) ? { url: ${JSON.stringify(waiting)}, shortCircuit: true } : next(name, context) })`
  const stuck = [`--import=data:text/javascript,${encodeURIComponent(hook)}`]
  const said = startApp(t, ['module-list'], stuck)
  t.equal(await said.ended, 1)
  t.match(said.stderr, /ended before it was done.*\n.*again/)
  const json = startApp(t, ['module-list', '--json'], stuck)
  t.equal(await json.ended, 1)
  t.match(JSON.parse(json.stdout).error, { code: 'ended-early', exitCode: 1 })
})
