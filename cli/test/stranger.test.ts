import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { checkoutRegistry } from './checkout-registry.ts'
import { published } from './fake-registry.ts'
import { checkout, sections } from './operating-page.ts'
import { packedPackages } from './packed-packages.ts'
import { sampleFiles } from './sample-module.ts'
import { verdaccio } from './verdaccio.ts'

// Mortise as a stranger gets it: everything is published to a registry, and a folder outside of the checkout installs
// from there, by the lines of the README.

/** Not below the checkout, nor beside its node_modules: what is not installed is not found. */
const home = await realpath(await mkdtemp(join(tmpdir(), 'stranger-')))
t.teardown(() => rm(home, { recursive: true, maxRetries: 5 }))

// First: npm packs without a pause, and a registry would close its idle connections meanwhile.
const packages = await packedPackages(t)
const everybody = { access: '$all', publish: '$authenticated' }
const registry = await verdaccio(t, { '**': everybody })
const names = new Set(['api-event'])
for (const [name, tarball] of await tarballs(packages)) {
  names.add(name)
  await registry.publish(tarball)
}
// A stranger has the short name of a module of ours.
const { 'package.json': json, ...files } = sampleFiles({ name: 'api-event', version: '9.0.0' })
await registry.publish(published(JSON.parse(json as string), files))
const address = await checkoutRegistry(t, registry.host, (name) => names.has(name))

const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|APP_|TAP)/i.test(name)),
  ),
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  HOME: home,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_registry: address,
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  APP_SERVER_PORT: '0',
  APP_LOG_LEVEL: 'silent',
  APP_SERVER_DRAIN_SECONDS: '0',
}
const shop = join(home, 'shop')

t.test('a stranger makes an application, and it serves a cart', async (t) => {
  const lines = await installSection(join(checkout, 'README.md'))
  t.same(lines, await installSection(join(checkout, 'packages', 'create-mortise', 'README.md')))
  const [create, enter, start, look] = lines as [string, string, string, string]
  t.match(create, /^npm create mortise@latest shop -- --modules api-cart,api-purchase$/)
  await run(home, create)
  t.equal(enter, 'cd shop')
  const host = await serving(shop, start)
  t.teardown(() => host.stop())
  t.match(look, 'http://127.0.0.1:3000/cart')
  t.equal((await fetch(`${host.url}/cart`)).status, 200)
  t.equal((await fetch(`${host.url}/purchase`)).status, 200)
  t.same((await readdir(shop)).sort(), [
    ...[
      '.app',
      '.dockerignore',
      '.gitignore',
      '.npmrc',
      'Dockerfile',
      'app.config.json',
      'data',
      'modules.lock.json',
    ],
    ...['node_modules', 'package-lock.json', 'package.json'],
  ])
  const { packages } = JSON.parse(await readFile(join(shop, 'package-lock.json'), 'utf8'))
  t.ok(Object.keys(packages).length <= 260, `${Object.keys(packages).length} packages`)

  const app = 'node_modules/.bin/app'
  await t.test('an altered package in the command is refused', async (t) => {
    const folder = join(shop, 'node_modules', '@mortise', 'cli', 'modules')
    const file = join(folder, (await readdir(folder)).find((name) => name.includes('api-event')) as string)
    const whole = await readFile(file)
    await writeFile(file, Buffer.concat([whole, Buffer.alloc(1)]))
    const { stdout } = await run(shop, `${app} module-install api-event --json`, {}, 4)
    t.match(JSON.parse(stdout).error, { code: 'integrity', message: /a part of the command, was altered/ })
    await writeFile(file, whole)
  })

  await t.test('another version of a short name needs the full name', async (t) => {
    const { stdout } = await run(shop, `${app} module-install api-event@^9 --json`, {}, 3)
    t.match(JSON.parse(stdout).error, { code: 'no-such-version', hint: /@mortise\/api-event@\^9/ })
    const named = await run(shop, `${app} module-install @mortise/api-event@^1 --dry-run --json`)
    t.match(JSON.parse(named.stdout), { installed: [{ origin: /^http:.*api-event-1\.0\.0\.tgz$/ }] })
  })

  await t.test('a short name is never a stranger’s', async (t) => {
    const { stdout } = await run(shop, 'npx app module-install api-event --json')
    t.match(JSON.parse(stdout), { installed: [{ package: '@mortise/api-event', version: '1.0.0' }] })
    t.equal((await fetch(`${host.url}/event`)).status, 200)
  })
})

t.test('a folder that has something is left alone', async (t) => {
  const before = await readdir(shop)
  const { stderr } = await run(home, `node ${join(checkout, 'packages/create-mortise/bin.js')} shop`, {}, 2)
  t.match(stderr, /is not empty/)
  t.same(await readdir(shop), before)
})

t.test(
  'the Dockerfile builds without a registry and serves, and the host writes only where it may',
  async (t) => {
    const [build, image] = stagesOf(await readFile(join(shop, 'Dockerfile'), 'utf8'))
    const folder = join(home, 'srv', 'app')
    await mkdir(folder, { recursive: true })
    for (const [word, line] of build as [string, string][]) {
      if (word === 'COPY') {
        for (const name of line.split(' ').slice(0, -1)) await cp(join(shop, name), join(folder, name))
      } else if (line.startsWith('npm ci')) {
        // npm has installed the same before, in seconds.
        await rename(join(shop, 'node_modules'), join(folder, 'node_modules'))
      } else if (word === 'RUN') await run(folder, line, { npm_config_registry: 'http://127.0.0.1:1/' })
    }
    t.same((await readdir(folder)).sort(), [
      ...['.npmrc', 'app.config.json', 'data', 'modules.lock.json', 'node_modules', 'package-lock.json'],
      ...['package.json', 'packed'],
    ])
    t.same(await readdir(join(folder, 'data')), [], 'no database of the build')
    t.notOk(
      (await readdir(join(folder, 'packed'))).some((name) => /secret|identity/.test(name)),
      'no secret',
    )

    const words = new Map(image as [string, string][])
    t.equal(words.get('USER'), 'node')
    const [shell, option, script, name] = JSON.parse(words.get('ENTRYPOINT') as string)
    const docs = (await sections()).get('In a container')?.join('\n') ?? ''
    t.match(docs, '--read-only --tmpfs /srv/app/.app:uid=1000,gid=1000,mode=0700')
    t.match(docs, '-v shop-data:/srv/app/data')
    const secret = { APP_SECRET: 'a secret of at least thirty-two bytes, as in the page' }
    const former = await readdir(folder)
    for (const options of [['--new-database'], []]) {
      // A new container has a new .app, and the volume.
      await rm(join(folder, '.app'), { recursive: true, force: true })
      const host = await serving(folder, [shell, option, script, name, ...options], secret)
      t.equal((await fetch(`${host.url}/cart`)).status, 200)
      await host.stop()
    }
    t.same((await readdir(folder)).sort(), ['.app', ...former].sort())
  },
)

/** The lines of the first block in a README that begins with `npm create`. */
async function installSection(file: string): Promise<string[]> {
  const [, block = ''] = /^```sh\n(npm create [\s\S]*?)^```$/m.exec(await readFile(file, 'utf8')) ?? []
  return block.trim().split('\n')
}

/** The instructions of each stage. */
function stagesOf(dockerfile: string): [string, string][][] {
  const lines = dockerfile.replaceAll('\\\n', '').split('\n')
  const instructions = lines.flatMap((line) => {
    const [, word, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    return word === undefined ? [] : [[word, rest] as [string, string]]
  })
  const second = instructions.findLastIndex(([word]) => word === 'FROM')
  return [instructions.slice(0, second), instructions.slice(second)]
}

async function tarballs(folder: string) {
  const { readDescription } = await import('../src/install/fetch/local-registry.ts')
  const found = (await readdir(folder)).map(async (name) => {
    const tarball = await readFile(join(folder, name))
    const json = readDescription(tarball) as { name: string; version: string }
    return [json.name, { json, tarball }] as const
  })
  return await Promise.all(found)
}

/** Runs a line of a shell. */
async function run(folder: string, line: string, more: NodeJS.ProcessEnv = {}, expected = 0) {
  const child = spawn('sh', ['-c', line], {
    cwd: folder,
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== expected) throw new Error(`${line} ended with ${code}\n${stdout}${stderr}`)
  return { code, stdout, stderr }
}

/** Starts a host, and waits until it serves. */
async function serving(folder: string, line: string | string[], more: NodeJS.ProcessEnv = {}) {
  const [program, ...argv] = typeof line === 'string' ? ['sh', '-c', `exec ${line}`] : line
  const child: ChildProcess = spawn(program as string, argv, {
    cwd: folder,
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const isRunning = () => child.exitCode === null && child.signalCode === null
  t.teardown(() => isRunning() && process.kill(-(child.pid as number), 'SIGKILL'))
  let said = ''
  for await (const piece of child.stdout ?? []) {
    said += piece
    const [, url] = /Serving (\S+)\n/.exec(said) ?? []
    if (url === undefined) continue
    const stop = async () => {
      if (!isRunning()) return
      child.kill('SIGTERM')
      const [code] = await once(child, 'exit')
      t.equal(code, 0, 'it stops in order')
    }
    return { url, stop }
  }
  throw new Error(`${folder} does not serve: ${said}`)
}
