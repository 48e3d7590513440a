import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { readLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { create, extract } from 'tar'
import { packRelease } from './host-release.ts'
import { checkout, disasters, sections } from './operating-page.ts'
import { packedPackages } from './packed-packages.ts'
import { startApp } from './run-process.ts'

// docs/operating.md, done line by line by an operator whose machine is a folder.

/** How the lines begin that are not run here: they need the network, root, a service manager or a container engine. */
const skipped = ['npm install', 'npm create', 'useradd', 'install', 'su', 'systemctl', 'docker']

/** Of the machine, whose root is a folder of the test's own. */
const places = /\/(opt\/mortise|usr\/local\/bin|srv|var\/lib\/mortise)\b/g

async function operator(t: Test) {
  const root = await realpath(t.testdir({}))
  const bin = join(root, 'usr', 'local', 'bin')
  await writeFile(join(root, 'npmrc'), `@mortise:registry=file:${join(root, 'registry')}\n`)
  for (const folder of ['usr/local/bin', 'srv/staging', 'srv/shop', 'var/lib/mortise', 'registry']) {
    await mkdir(join(root, folder), { recursive: true })
  }
  const environment = {
    ...process.env,
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: join(root, 'var', 'lib', 'mortise'),
    npm_config_cache: join(root, 'npm-cache'),
    npm_config_userconfig: join(root, 'npmrc'),
    npm_config_registry: 'http://127.0.0.1:1/',
    NODE_COMPILE_CACHE: join(root, 'compile-cache'),
    APP_LOG_LEVEL: 'silent',
    APP_SERVER_PORT: '0',
  }
  let here = checkout
  let production = 'http://127.0.0.1:3000'

  /** Runs a line of the page. */
  async function run(line: string): Promise<void> {
    const command = line
      .replaceAll('http://127.0.0.1:3000', production)
      .replace(places, (place) => root + place)
    if (command.startsWith('cd ')) {
      here = resolve(here, command.slice(3))
      return
    }
    const child = spawn('sh', ['-c', command], { cwd: here, env: environment })
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ])
    if (code !== 0) throw new Error(`${line}\n${stdout}${stderr}`)
    t.pass(line)
  }

  /** Starts the host of an application, as the unit of the page does. @returns its address */
  async function serve(application: string): Promise<{ url: string; stop: () => Promise<void> }> {
    const argv = ['start', '--port', '0', '--dir', join(root, 'srv', application)]
    const host = startApp(t, argv, [], join(bin, 'app'))
    await host.says(/Serving (\S+)\n/)
    const [, url = ''] = /Serving (\S+)\n/.exec(host.stdout) ?? []
    if (application === 'shop') production = url
    return {
      url,
      async stop() {
        host.child.kill('SIGTERM')
        t.equal(await host.ended, 0, 'it stops in order')
      },
    }
  }
  const go = (folder: string) => {
    here = folder
  }
  return { root, run, go, serve }
}

/** Stands for the "npm install" of the page: the packages as they are published, beside the checkout's dependencies. */
async function installCommand(root: string, packages: string): Promise<void> {
  const modules = join(root, 'opt/mortise/node_modules')
  await mkdir(join(modules, '.bin'), { recursive: true })
  for (const name of await readdir(join(checkout, 'node_modules'))) {
    if (/^(\.|@mortise$)/.test(name)) continue
    await symlink(join(checkout, 'node_modules', name), join(modules, name))
  }
  for (const name of ['module-sdk', 'storage', 'application', 'host', 'installer', 'cli']) {
    const folder = join(modules, '@mortise', name)
    await mkdir(folder, { recursive: true })
    await extract({ file: join(packages, `mortise-${name}-1.0.0.tgz`), cwd: folder, strip: 1 })
  }
  await chmod(join(modules, '@mortise/cli/bin.js'), 0o755)
  await symlink('../@mortise/cli/bin.js', join(modules, '.bin', 'app'))
}

/** Publishes the modules, and the cart in a version with one more migration, where the operator's .npmrc says. */
async function publishNewCart(root: string, previous: string): Promise<void> {
  const packages = join(root, 'registry')
  for (const name of await readdir(previous)) {
    if (name.startsWith('mortise-api-')) await copyFile(join(previous, name), join(packages, name))
  }
  const folder = join(root, 'cart')
  await mkdir(folder)
  await extract({ file: join(previous, 'mortise-api-cart-1.0.0.tgz'), cwd: folder })
  const description = join(folder, 'package', 'package.json')
  const json = JSON.parse(await readFile(description, 'utf8'))
  await writeFile(description, JSON.stringify({ ...json, version: '1.1.0' }))
  const migrations = join(folder, 'package', 'migrations')
  const newest = Math.max(...(await readdir(migrations)).map((name) => Number.parseInt(name, 10)))
  const migration = join(migrations, `${String(newest + 1).padStart(3, '0')}-gift`)
  await writeFile(`${migration}.sql`, 'ALTER TABLE cart ADD COLUMN gift TEXT;')
  await writeFile(`${migration}.down.sql`, 'ALTER TABLE cart DROP COLUMN gift;')
  await create({ file: join(packages, 'mortise-api-cart-1.1.0.tgz'), cwd: folder, gzip: true }, ['package'])
}

/** A caller with a cart of one line, who looks at it again and again until asked to stop. */
async function customer(t: Test, url: string) {
  const { token } = (await (await fetch(`${url}/guest`, { method: 'POST' })).json()) as { token: string }
  const headers = { 'guest-token': token, 'content-type': 'application/json' }
  const body = JSON.stringify({ product: 'tea', quantity: 2 })
  t.equal((await fetch(`${url}/cart/item`, { method: 'POST', headers, body })).status, 201)
  const statuses: number[] = []
  let stopped = false
  t.teardown(() => {
    stopped = true
  })
  const cart = async (at = url) => await fetch(`${at}/cart`, { headers })
  const looking = (async () => {
    while (!stopped) {
      statuses.push((await cart()).status)
      await setTimeout(10)
    }
  })()
  return {
    /** What is in the cart, as the host at `at` has it. */
    async has(at: string) {
      const { items } = (await (await cart(at)).json()) as { items: { product: string; quantity: number }[] }
      return items.map(({ product, quantity }) => `${quantity} ${product}`)
    },
    async stop() {
      stopped = true
      await looking
      t.ok(statuses.length > 0)
      t.strictSame(new Set(statuses), new Set([200]), 'no response was anything but 200')
    },
  }
}

t.test('operating.md: staging, production, an upgrade, a rollback, and a new machine', async (t) => {
  const page = await sections()
  const packages = await packedPackages(t)
  const { root, run, go, serve } = await operator(t)
  const followed = new Set<string>()
  const met = new Set<string>()
  const hosts: Record<string, Awaited<ReturnType<typeof serve>>> = {}
  /** The version of the cart that production serves. */
  async function cartVersion(): Promise<string | undefined> {
    const overview = await (await fetch(hosts.shop?.url as string)).json()
    const { modules } = overview as { modules: { id: string; version: string }[] }
    return modules.find(({ id }) => id === 'api-cart')?.version
  }
  /** What stands for a line: what needs the network, another terminal, or the service manager. */
  const instead: Record<string, () => Promise<void>> = {
    'npm install': async () => await installCommand(root, packages),
    'app start --port 3001': async () => {
      hosts.staging = await serve('staging')
    },
    'systemctl enable --now mortise@shop': async () => {
      hosts.shop = await serve('shop')
    },
    // It wants a stopped host and a response: module-rollback-snapshot.test.ts does it.
    'app module-rollback --restore-snapshot': async () => {},
    // They want a module that has failed on an event: commands/events.test.ts has one.
    'app events replay event_01k8w2d3e4f5g6h7j8k9m0n1p2': async () => {},
    'app events replay --all --module sold': async () => {},
    'app events discard event_01k8w2d3e4f5g6h7j8k9m0n1p2': async () => {},
    // They want a job that has failed: host/test/events/work-loop.test.ts has one.
    'app work replay job_01k8w2d3e4f5g6h7j8k9m0n1p2': async () => {},
    'app work replay --all --module invite': async () => {},
    'app work discard job_01k8w2d3e4f5g6h7j8k9m0n1p2': async () => {},
    // They want a PostgreSQL: start-workers.test.ts does it.
    'app start --workers 4': async () => {},
    'app restart': async () => {},
  }
  async function follow(heading: string): Promise<void> {
    followed.add(heading)
    for (const line of page.get(heading) ?? []) {
      const words = skipped.find((name) => line.startsWith(`${name} `))
      if (words !== undefined) met.add(words)
      const other = instead[line] ?? instead[words ?? '']
      if (other) await other()
      else if (words === undefined) await run(line)
    }
  }

  await follow('The command')
  await follow('Staging')
  t.equal((await fetch(`${hosts.staging?.url}/cart`)).status, 200)

  await follow('Production, from a bundle')
  t.equal(await cartVersion(), '1.0.0')
  t.not(hosts.shop?.url, hosts.staging?.url)
  await follow('Known vulnerabilities')
  await follow('Pause a module')
  await follow('Who did what')
  await follow('Events on which a module fails')
  await follow('Failed jobs')
  await follow('Several processes')
  await mkdir(join(root, 'shop'))
  go(root)
  await follow('In a container')

  await publishNewCart(root, packages)
  const caller = await customer(t, hosts.shop?.url as string)
  await follow('Upgrade')
  t.equal(await cartVersion(), '1.1.0')
  await follow('Back again')
  t.equal(await cartVersion(), '1.0.0')
  await run('app module-rollback')
  t.equal(await cartVersion(), '1.1.0', 'and forward')
  await caller.stop()

  // The first block of it is done on this machine, the second on a new one.
  const [backUp, ...bringBack] = page.get('Back up') ?? []
  followed.add('Back up')
  await run('cd /srv/shop')
  await run(backUp as string)
  await hosts.shop?.stop()
  await rename(join(root, 'srv', 'shop'), join(root, 'srv', 'lost'))
  await mkdir(join(root, 'srv', 'shop'))
  for (const line of bringBack) await run(line)
  hosts.shop = await serve('shop')
  t.equal(await cartVersion(), '1.1.0')
  t.strictSame(await caller.has(hosts.shop.url), ['2 tea'], 'what the caller had is there')

  await packRelease(join(root, 'registry'), '1.1.0')
  await hosts.staging?.stop()
  await follow('The host itself')
  await hosts.shop.stop()
  hosts.shop = await serve('shop')
  t.match(await readLockFile(join(root, 'srv', 'shop')), { host: { version: '1.1.0' } })
  t.strictSame(await caller.has(hosts.shop.url), ['2 tea'])

  for (const host of Object.values(hosts)) await host.stop()
  // The disasters have a test of their own.
  for (const heading of disasters) followed.add(heading)
  t.strictSame(
    [...page].filter(([heading, lines]) => lines.length > 0 && !followed.has(heading)),
    [],
    'every block was followed',
  )
  t.strictSame([...met].sort(), [...skipped].sort(), 'every skipped line is still in the page')
})
