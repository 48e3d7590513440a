import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { readConfig } from '@mortise/application'
import t, { type Test } from 'tap'
import { copiesOf } from './run-app.ts'
import { startApp } from './run-process.ts'

// Most of a start's time goes into loading files, so their number says how long it takes, on every
// machine. If a test fails, find out who imports the new files (`loaded` has their URLs), and
// import them where they are needed.

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Prints the number of loaded files at the end, and whether undici is one of Node's own. */
const counting = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ load(url, context, next) {
    if (url.startsWith('file:')) loaded.push(url)
    return next(url, context)
  } })
  process.on('exit', () => {
    const undici = process.moduleLoadList.some((name) => name.endsWith('/undici'))
    process._rawDebug('loaded ' + JSON.stringify({ undici, loaded }))
  })`)}`

interface Loaded {
  readonly undici: boolean
  readonly loaded: readonly string[]
}

function loadedBy(stderr: string): Loaded {
  return JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? '')
}

function isAtMost(t: Test, { loaded, undici }: Loaded, most: number, what: string): void {
  t.ok(loaded.length > 5, 'it counts')
  t.ok(loaded.length <= most, `${what} loads ${loaded.length} files, at most ${most}`)
  t.notOk(undici, `${what} does not load undici: take the values of node:http from getBuiltinModule`)
}

const names = ['api-cart', 'api-purchase', 'api-event']
const applicationWithModules = copiesOf(async ({ run }) => {
  const { exitCode } = await run(
    'module-install',
    '--yes',
    ...names.map((name) => join(root, 'packages', name)),
  )
  if (exitCode !== 0) throw new Error(`the modules cannot be installed: ${exitCode}`)
})

const isFastify = (url: string) => url.includes('/node_modules/fastify/')

const commands = [
  ['--version', 30],
  ['--help', 45],
  ['module-list', 586],
  ['config get', 591],
  ['doctor', 788],
] as const

for (const [words, most] of commands) {
  t.test(`app ${words} loads at most ${most} files`, async (t) => {
    const { directory } = await applicationWithModules(t)
    const place = words.startsWith('--') ? [] : ['--dir', directory]
    const said = startApp(t, [...words.split(' '), ...place], [counting])
    await said.ended
    const found = loadedBy(said.stderr)
    // npm's libraries, which ask the registries for known vulnerabilities, load undici.
    isAtMost(t, words === 'doctor' ? { ...found, undici: false } : found, most, words)
    t.notOk(found.loaded.some(isFastify), 'no Fastify')
  })
}

t.test('module-install', async (t) => {
  const { directory } = await applicationWithModules(t)
  const argv = ['module-install', '--yes', join(root, 'packages/api-cart'), '--dry-run', '--dir', directory]
  const said = startApp(t, argv, [counting])
  t.equal(await said.ended, 0)
  const { loaded } = loadedBy(said.stderr)
  t.ok(loaded.length <= 1205, `it loads ${loaded.length} files, with npm's libraries at most 1205`)
  t.notOk(loaded.some(isFastify), 'no Fastify')
})

t.test('a host with three modules', async (t) => {
  const { directory } = await applicationWithModules(t)
  const host = startApp(t, ['start', '--port', '0', '--dir', directory], [counting])
  await host.says(/Serving http:\S+/)
  const url = /http:\S+/.exec(host.stdout)?.[0]
  for (const path of ['/cart', '/docs']) t.equal((await fetch(`${url}${path}`)).status, 200)
  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  isAtMost(t, loadedBy(host.stderr), 969, 'it')
  const { loaded } = loadedBy(host.stderr)
  const needless =
    /node_modules\/(@opentelemetry|@fastify\/(swagger|swagger-ui|ajv-compiler)|yaml|pg|pacote|@npmcli|cacache|tar|pino-pretty)\//
  t.strictSame(
    loaded.filter((each) => needless.test(each)),
    [],
  )
})

t.test('a probe', async (t) => {
  const { directory } = await applicationWithModules(t)
  const scratch = join(directory, 'scratch')
  await mkdir(scratch)
  const host = dirname(createRequire(import.meta.url).resolve('@mortise/host/package.json'))
  const program = join(host, 'dist', 'generations', 'probe-child.js')
  const child = spawn(process.execPath, [counting, program], {
    cwd: scratch,
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const config = { ...(await readConfig(directory)), environment: {} }
  child.send({ config, modules: [], schema: undefined, ask: [], upgrades: [], scratch })
  const reported: string[] = []
  child.on('message', ({ kind }: { kind: string }) => {
    reported.push(kind)
    if (kind === 'done' || kind === 'failed') child.disconnect()
  })
  const said = await text(child.stderr as Readable)
  t.strictSame(reported, ['report', 'done'])
  // It loads undici: it compares all globals.
  const { loaded } = loadedBy(said)
  t.ok(loaded.length > 5 && loaded.length <= 855, `it loads ${loaded.length} files, at most 855`)
})
