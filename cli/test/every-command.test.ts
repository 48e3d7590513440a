import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { backUpIfDue } from '@mortise/installer/data'
import t, { type Test } from 'tap'
import { commands, hiddenCommands } from '../src/commands/index.ts'
import { addRelease } from './host-release.ts'
import { temporarySchema } from './postgres-schema.ts'
import { type Outcome, runApp, type TestApplication, testApplication } from './run-app.ts'
import { type Running, startApp } from './run-process.ts'
import { skipPostgres, usePostgres } from './test-on-engines.ts'

// Every command of `app` on both engines, beside a running host, with data in. A row is a command
// line, how it ends, and a key fact of its document. The rows run in their order.

interface Shop extends TestApplication {
  readonly engine: (typeof engines)[number]
  /** What a line names in braces. */
  readonly names: Record<string, string>
  /** Undefined where the rows need no host. */
  serving?: Serving
}

interface Serving {
  readonly host: Running
  readonly url: string
}

interface Row {
  /** `{root}` is the folder beside the application. */
  readonly line: string
  /** Only on this engine. */
  readonly on?: Shop['engine']
  /** 0 by default. */
  readonly exitCode?: number
  readonly fact: unknown
  /** Whether it takes no application. */
  readonly elsewhere?: boolean
  /** What shows that it did what it said, or prepares the next row. */
  readonly after?: (t: Test, shop: Shop, outcome: Outcome) => Promise<void>
}

const engines = ['sqlite', 'postgres'] as const
const modules = ['api-product', 'api-cart', 'api-purchase', 'api-event', 'web-console']
const rows = { product: 1, cart_item: 1, purchase: 1, mortise_event: Number }

const beside: readonly Row[] = [
  { line: `module-install ${modules.join(' ')}`, fact: { live: true }, after: fill },
  { line: 'module-list', fact: { modules: Array(modules.length + 1).fill({ state: 'active' }) } },
  { line: 'module-info api-purchase', fact: { id: 'api-purchase', routes: Array } },
  { line: 'module-history', fact: { generations: [{ command: 'init' }] } },
  { line: 'search cart', fact: { modules: [{ spec: 'api-cart' }] } },
  { line: 'openapi', fact: { paths: { '/purchase': {} } } },
  { line: 'sbom', fact: { bomFormat: 'CycloneDX' } },
  { line: 'audit', fact: { records: [{ outcome: 'done' }] } },
  { line: 'events', fact: { subscriptions: [{ module: 'api-event', dead: 0 }], failed: [] } },
  { line: 'events replay --all', fact: { replayed: [] } },
  { line: 'work', fact: { failed: [] } },
  { line: 'work replay --all', fact: { replayed: [] } },
  { line: 'config get', fact: { settings: Array } },
  { line: 'config set modules.api-cart.reservationMinutes 50', fact: { live: true } },
  { line: 'config get modules.api-cart.reservationMinutes', fact: { value: 50 } },
  { line: 'config unset modules.api-cart.reservationMinutes', fact: { live: true } },
  { line: 'token ann', fact: { token: String } },
  { line: 'mcp ann', fact: { mcpServers: Object } },
  { line: 'console --no-open', fact: { link: /#link=/ } },
  { line: 'secret rotate', fact: { live: true }, after: serves },
  { line: 'client {root}/client', fact: { files: Array } },
  { line: 'bundle {root}/shop.tgz', fact: { modules: Array } },
  { line: 'backup {root}/backup.tgz --with-secret', fact: { bytes: Number } },
  { line: 'backup verify {root}/backup.tgz', fact: { kind: 'application', rows } },
  { line: 'backup --every 6h --to {root}/backups', fact: { running: true }, after: backsUp },
  { line: 'module-pause api-cart --for 1h', fact: { changed: ['api-cart'], live: true } },
  { line: 'module-enable api-cart', fact: { changed: ['api-cart'], live: true }, after: serves },
  { line: 'module-disable web-console', fact: { changed: ['web-console'], live: true } },
  { line: 'module-rollback --yes', fact: { live: true } },
  { line: 'module-remove web-console', fact: { removed: ['web-console'], live: true } },
  { line: 'module-remove api-cart --purge --yes', fact: { purged: [{ module: 'api-cart' }] }, after: purged },
  { line: 'module-upgrade', fact: { unchanged: Array } },
  { line: 'host-upgrade 1.1.0 --dry-run', fact: { host: { to: '1.1.0' } } },
  { line: 'doctor', fact: { findings: [] } },
  { line: 'restore {root}/backup.tgz', exitCode: 4, fact: { error: { code: 'host-running' } }, after: stop },
]

const stopped: readonly Row[] = [
  { line: 'restore {purged}', fact: { kind: 'module', module: 'api-cart' } },
  { line: 'backup verify {purged}', fact: { kind: 'module', rows: { cart_item: 1 } } },
  { line: 'restore {root}/backup.tgz --with-config --with-secret --yes', fact: { kind: 'application' } },
  { line: 'doctor', fact: { findings: [] } },
  { line: 'module-list', fact: { url: null, modules: Array }, after: startAgain },
]

const restored: readonly Row[] = [
  { line: 'doctor', fact: { findings: [] }, after: serves },
  { line: 'restart', on: 'postgres', fact: { workers: 2 }, after: serves },
  { line: 'restart', on: 'sqlite', exitCode: 4, fact: { error: { code: 'not-restarted' } } },
  {
    line: 'migrate-data --to {target}',
    on: 'postgres',
    exitCode: 4,
    fact: { error: { code: 'not-on-sqlite' } },
  },
]

const moved: readonly Row[] = [
  { line: 'migrate-data --to {target} --yes', on: 'sqlite', fact: { moved: true }, after: stop },
  { line: 'backup {root}/moved.tgz', fact: { bytes: Number } },
  { line: 'backup verify {root}/moved.tgz', fact: { rows }, after: startAgain },
  { line: 'doctor', fact: { findings: [] }, after: serves },
]

const withoutApplication: readonly Row[] = [
  { line: 'init {root}/another', fact: { made: Array } },
  { line: 'module-new gift --js --minimal --dir {root}', fact: { files: Array } },
  { line: 'module-manifest {root}/gift --check', fact: Object },
  { line: 'module-check {root}/gift', fact: { modules: [{ findings: [] }] }, after: develop },
].map((row) => ({ ...row, elsewhere: true }))

t.test('every command has a row', async (t) => {
  const all = [...beside, ...stopped, ...restored, ...moved, ...withoutApplication]
  const called = new Set(all.map(({ line }) => line.split(' ')[0]))
  // The first two run until they are stopped; host-upgrade calls the third.
  for (const name of ['start', 'dev', 'host-probe']) called.add(name)
  t.strictSame([...called].sort(), [...commands, ...hiddenCommands].map(({ name }) => name).sort())
})

for (const engine of engines) {
  t.test(`every command on ${engine}`, { skip: engine === 'postgres' && skipPostgres }, async (t) => {
    const application = await testApplication(t)
    const { root, directory } = application
    if (engine === 'postgres') await usePostgres(t, directory)
    await mkdir(join(root, 'backups'))
    await addRelease(application, '1.1.0')
    const names: Record<string, string> = { root }
    if (!skipPostgres) names.target = (await temporarySchema(t)).url
    const shop: Shop = { ...application, engine, names, serving: await start(t, directory) }
    await walk(t, shop, [...beside, ...stopped, ...restored])
    if (engine === 'sqlite' && !skipPostgres) await walk(t, shop, moved)
  })
}

t.test('the commands that need no application', async (t) => {
  const application = await testApplication(t)
  const names = { root: application.root }
  await walk(t, { ...application, engine: 'sqlite', names }, withoutApplication)
})

async function walk(t: Test, shop: Shop, rows: readonly Row[]): Promise<void> {
  for (const { line, on = shop.engine, exitCode = 0, fact, elsewhere, after } of rows) {
    if (on !== shop.engine) continue
    const words = line
      .split(' ')
      .map((word) => word.replace(/\{(\w+)\}/, (_, name) => shop.names[name] as string))
    const outcome = await (elsewhere ? runApp(...words, '--json') : shop.run(...words))
    t.equal(outcome.exitCode, exitCode, `${line}: ${outcome.stdout}`)
    t.match(outcome.json, fact, line)
    await after?.(t, shop, outcome)
  }
}

async function start(t: Test, directory: string, ...more: string[]): Promise<Serving> {
  const host = startApp(t, ['start', '--port', '0', '--json', '--dir', directory, ...more])
  await host.says(/^}/m)
  return { host, url: JSON.parse(host.stdout).url }
}

async function stop(t: Test, { serving }: Shop): Promise<void> {
  serving?.host.child.kill('SIGTERM')
  t.equal(await serving?.host.ended, 0)
}

async function startAgain(t: Test, shop: Shop): Promise<void> {
  const { directory, engine } = shop
  shop.serving = await start(t, directory, ...(engine === 'postgres' ? ['--workers', '2'] : []))
}

async function purged(_t: Test, { names }: Shop, { json }: Outcome): Promise<void> {
  names.purged = join(names.root as string, 'application', json.purged[0].archive)
}

async function signedIn({ run }: Shop, scope: string): Promise<Record<string, string>> {
  const { token } = (await run('token', 'ann', '--scope', scope)).json
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
}

async function fill(t: Test, shop: Shop): Promise<void> {
  const headers = await signedIn(shop, 'product:manage')
  const post = async (path: string, body: object) =>
    (await fetch(`${shop.serving?.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
      .status
  const tea = { product: 'tea', quantity: 2 }
  const price = { amount: 390, currency: 'EUR' }
  t.equal(await post('/product', { id: 'tea', name: 'Tea', price, stock: 9 }), 201)
  t.equal(await post('/purchase', { items: [tea] }), 201)
  t.equal(await post('/cart/item', tea), 201)
}

async function serves(t: Test, shop: Shop): Promise<void> {
  const headers = await signedIn(shop, 'purchase:read')
  const read = async (path: string) => (await fetch(`${shop.serving?.url}${path}`, { headers })).text()
  t.match(await read('/cart'), '"totalQuantity":2')
  t.match(await read('/purchase'), '"status":"pending"')
}

async function backsUp(t: Test, { directory }: Shop): Promise<void> {
  const notes: string[] = []
  t.ok(await backUpIfDue(directory, (text) => notes.push(text)))
  t.strictSame(notes, [])
}

async function develop(t: Test, { names }: Shop): Promise<void> {
  const running = startApp(t, ['dev', join(names.root as string, 'gift'), '--port', '0', '--json'])
  await running.says(/"token": .*\n.*\n}/)
  running.child.kill('SIGTERM')
  t.equal(await running.ended, 0)
}
