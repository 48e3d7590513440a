import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { callRunningHost } from '@mortise/host'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { testApplication } from './run-app.ts'
import { door, startApp } from './run-process.ts'

/** Makes this Node say that it is another one: what the door sees of a machine with an old Node. */
const old = `--import=data:text/javascript,${encodeURIComponent("Object.defineProperty(process.versions,'node',{value:'18.20.0'})")}`

t.test('the exit code and the output come from the command', async (t) => {
  const { directory } = await testApplication(t)
  const good = startApp(t, ['module-list', '--json', '--dir', directory])
  t.equal(await good.ended, 0)
  t.strictSame(JSON.parse(good.stdout).modules, [])
  const bad = startApp(t, ['module-info', 'nothing', '--dir', directory])
  t.equal(await bad.ended, 3)
  t.equal(bad.stdout, '')
})

t.test('--version alone prints the version, without the commands', async (t) => {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  const asked = startApp(t, ['--version'])
  t.equal(await asked.ended, 0)
  t.equal(asked.stdout, `${JSON.parse(text).version}\n`)
})

t.test('on an old Node it continues on the pinned Node, with its exit code', async (t) => {
  const { directory } = await testApplication(t)
  const listed = startApp(t, ['module-list', '--json', '--dir', directory], [old])
  t.equal(await listed.ended, 0, listed.stderr)
  t.strictSame(JSON.parse(listed.stdout).modules, [])
  t.equal(await startApp(t, ['module-info', 'nothing', '--dir', directory], [old]).ended, 3)
})

t.test('without a pinned Node it lists the supported versions', async (t) => {
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

t.test('a checkout without a build explains how to build it, also with --json', async (t) => {
  const folder = t.testdir({ 'package.json': '{"type":"module"}' })
  await cp(door, join(folder, 'bin.js'))
  const { status, stdout } = spawnSync(process.execPath, [join(folder, 'bin.js'), '--json'], {
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(JSON.parse(stdout).error, { exitCode: 1, message: /not built/, hint: /npm run build/ })
})

t.test('bin.js accepts exactly the engines of package.json', async (t) => {
  const { engines } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'))
  const text = await readFile(door, 'utf8')
  t.match(text, `/** ${engines.node}, the`)
})

for (const [name, options] of [
  ['directly', []],
  ['through the door', [old]],
] as const) {
  t.test(`app start, ${name}: serves, prints the URL, and stops cleanly at SIGTERM`, async (t) => {
    const { root, directory, run } = await testApplication(t)
    await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
    const host = startApp(t, ['start', '--port', '0', '--dir', directory], options)
    await host.says(/Serving http:\S+/)
    t.match(host.stdout, /hello 1\.0\.0/)
    const url = /http:\S+/.exec(host.stdout)?.[0]
    t.match(await (await fetch(`${url}/hello`)).json(), { version: '1.0.0' })

    const second = startApp(t, ['start', '--port', '0', '--dir', directory])
    t.equal(await second.ended, 1)
    t.match(second.stderr, `serves ${url}.`)
    t.match(second.stderr, /already running: process \d+ /)
    t.equal(second.stderr.trim().split('\n').length, 2, 'said once, and what to do')

    host.child.kill('SIGTERM')
    t.equal(await host.ended, 0)
    await t.rejects(fetch(`${url}/hello`))
  })
}

t.test('no process that a command has started outlives it', async (t) => {
  const { root, directory } = await testApplication(t)
  const config = { type: 'object', properties: { name: { type: 'string' } } }
  const tarball = await sampleTarball(join(root, 'hello.tgz'), { manifest: { config } })
  const argv = ['module-install', '--yes', tarball, '--dir', directory]
  const running = startApp(t, argv, [], undefined, { detached: true })
  t.equal(await running.ended, 0, running.stderr)
  // Also one that has ended without its parent is still there, until the machine collects it.
  t.throws(() => process.kill(-(running.child.pid as number), 0), { code: 'ESRCH' })
})

t.test('when bin.js is killed, its host ends too and releases its locks', async (t) => {
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

t.test('a port in use is a clear failure', async (t) => {
  const { directory } = await testApplication(t)
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const host = startApp(t, ['start', '--port', String(port), '--json', '--dir', directory])
  t.equal(await host.ended, 1)
  t.match(JSON.parse(host.stdout).error, {
    code: 'port-in-use',
    message: `Another program uses port ${port} of 127.0.0.1.`,
    hint: /--port/,
  })
  t.equal(await startApp(t, ['start', '--port', '99999', '--dir', directory]).ended, 2)
})

t.test('a closed stdout is not a failure', async (t) => {
  const { directory } = await testApplication(t)
  const command = `"${process.execPath}" "${door}" openapi --dir "${directory}" | head -c 10`
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
  t.equal(stdout.length, 10)
  t.equal(stderr, '')
})

t.test('commands use the nearest application above the folder', async (t) => {
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

t.test('a start with a new secret explains the effect', async (t) => {
  const { directory } = await testApplication(t)
  const silent = startApp(t, ['start', '--port', '0', '--dir', directory])
  await silent.says(/Serving/)
  t.notMatch(silent.stderr, /secret/)
  silent.child.kill('SIGTERM')
  await silent.ended
  await rm(join(directory, '.app', 'secret'))
  const host = startApp(t, ['start', '--new-secret', '--port', '0', '--dir', directory])
  await host.says(/Serving/)
  t.match(host.stderr, /new secret.*are invalid now/)
})

const noFull = !existsSync('/dev/full') && 'there is no /dev/full'

t.test('a host serves when stdout and its log are full', { skip: noFull }, async (t) => {
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

t.test('a result that does not fit on stdout is a failure', { skip: noFull }, async (t) => {
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

t.test('a command that waits forever ends with exit code 1 and a message', async (t) => {
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
