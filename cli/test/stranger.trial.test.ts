import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { published } from '../../packages/installer/test/fake-registry.ts'
import { sampleFiles } from '../../packages/installer/test/sample-module.ts'
import { checkoutRegistry } from './checkout-registry.ts'
import { edit, stepsOf } from './followed-page.ts'
import { checkout, sections } from './operating-page.ts'
import { outside } from './outside.ts'
import { packedPackages } from './packed-packages.ts'
import { verdaccio } from './verdaccio.ts'

// Mortise as a stranger gets it: everything is published to a registry, and folders outside of the checkout install from
// there. Each line of docs/tutorial.md is run and each edit made, then those of docs/writing-a-module.md.

const home = await outside(t)
// First: npm packs without a pause, and a registry would close its idle connections meanwhile.
const packages = await packedPackages(t)
const everybody = { access: '$all', publish: '$authenticated' }
const registry = await verdaccio(t, { '**': everybody })
const names = new Set(['api-event', '@acme/wishlist'])
for (const [name, tarball] of await tarballs(packages)) {
  names.add(name)
  await registry.publish(tarball)
}
// A stranger has the short name of a module of ours.
const { 'package.json': json, ...files } = sampleFiles({ name: 'api-event', version: '9.0.0' })
await registry.publish(published(JSON.parse(json as string), files))
const address = await checkoutRegistry(t, registry.host, (name) => names.has(name))
await writeFile(join(home, '.npmrc'), `${address.slice('http:'.length)}:_authToken=${registry.token}\n`)

const shop = join(home, 'shop')
const others = (process.env.PATH ?? '').split(delimiter).filter((path) => !path.includes('node_modules'))
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|APP_|TAP)/i.test(name)),
  ),
  // The last one is for writing-a-module.md, which has `app` on the path.
  PATH: [dirname(process.execPath), ...others, join(shop, 'node_modules', '.bin')].join(delimiter),
  HOME: home,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_registry: address,
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  APP_SERVER_PORT: '0',
  APP_LOG_LEVEL: 'silent',
  APP_SERVER_DRAIN_SECONDS: '0',
}

t.test('the tutorial leads from an empty folder to a published module', async (t) => {
  const lines = await installSection(join(checkout, 'README.md'))
  t.same(lines, await installSection(join(checkout, 'packages', 'create-mortise', 'README.md')))
  const page = await readFile(join(checkout, 'docs', 'tutorial.md'), 'utf8')
  const steps = stepsOf(page)
  const blocks = page.match(/^```\w/gm)?.length
  t.equal(steps.filter((step) => !('from' in step)).length, blocks, 'every block is a step')
  const said: string[] = []
  const terminals = twoTerminals(t, home, said)
  for (const step of steps) {
    if ('lines' in step) await terminals.follow(step.lines)
    else await edit(join(home, 'wishlist'), step)
  }
  const created = said.filter((text) => text.startsWith('HTTP/1.1 201 '))
  t.equal(created.length, 2)
  for (const response of created) t.match(response, /^guest-token: /im)
  t.ok(said.some((text) => text.startsWith('{"data":[]')))
  t.ok(said.some((text) => /^(ok|✔|#).*a caller wishes for something once/m.test(text)))
  t.ok(said.some((text) => /^\.: nothing found$/m.test(text)))
  const lock = JSON.parse(await readFile(join(shop, 'modules.lock.json'), 'utf8'))
  t.match(lock.modules.wishlist, { version: '0.1.0', spec: '@acme/wishlist@^0.1.0' })

  t.same(lines, [
    'npm create mortise@latest shop -- --modules api-cart,api-purchase',
    'cd shop',
    'npm start',
    'curl http://127.0.0.1:3000/cart',
  ])
  for (const line of lines.slice(0, 3)) t.match(page, `\n${line}\n`, 'as in the README')
  t.equal((await fetch(`${terminals.url()}/cart`)).status, 200)
  t.equal((await fetch(`${terminals.url()}/purchase`)).status, 200)
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
  t.ok(Object.keys(packages).length <= 262, `${Object.keys(packages).length} packages`)

  await t.test('an altered package in the command is refused', async (t) => {
    const folder = join(shop, 'node_modules', '@mortise', 'cli', 'modules')
    const file = join(folder, (await readdir(folder)).find((name) => name.includes('api-event')) as string)
    const whole = await readFile(file)
    await writeFile(file, Buffer.concat([whole, Buffer.alloc(1)]))
    const refused = await run(shop, 'app module-install api-event --json', {}, 4)
    t.match(JSON.parse(refused).error, { code: 'integrity', message: /a part of the command, was altered/ })
    await writeFile(file, whole)
  })

  await t.test('another version of a short name needs the full name', async (t) => {
    const refused = await run(shop, 'app module-install api-event@^9 --json', {}, 3)
    t.match(JSON.parse(refused).error, { code: 'no-such-version', hint: /@mortise\/api-event@\^9/ })
    const named = await run(shop, 'app module-install @mortise/api-event@^1 --dry-run --json')
    t.match(JSON.parse(named), { installed: [{ origin: /^http:.*api-event-1\.0\.0\.tgz$/ }] })
  })

  await t.test('a short name is never a stranger’s', async (t) => {
    const installed = await run(shop, 'app module-install api-event --json')
    t.match(JSON.parse(installed), { installed: [{ package: '@mortise/api-event', version: '1.0.0' }] })
    t.equal((await fetch(`${terminals.url()}/event`)).status, 200)
  })
  await terminals.interrupt()
})

t.test('writing-a-module.md: the shortest module is tested, packed, installed and called', async (t) => {
  // Below the wishlist, whose dependencies are those that the page installs.
  const task = join(home, 'wishlist', 'task')
  await cp(join(checkout, 'docs', 'examples', 'task'), task, { recursive: true })
  const page = await readFile(join(checkout, 'docs', 'writing-a-module.md'), 'utf8')
  const lines = stepsOf(page).flatMap((step) => ('lines' in step ? step.lines : []))
  const said: string[] = []
  const terminals = twoTerminals(t, task, said)
  // The tutorial does the others.
  await terminals.follow(lines.filter((line) => !/^(npm install|app (dev|module-check)$)/.test(line)))
  await terminals.interrupt()
  t.ok(said.some((text) => /pass 1$/m.test(text)))
  t.match(said.at(-1), /^HTTP\/1.1 201 [\s\S]*"text":"buy milk"\}\{"data":\[\]\}/)
})

t.test('a folder that has something is left alone', async (t) => {
  const before = await readdir(shop)
  const refused = await run(home, `node ${join(checkout, 'packages/create-mortise/bin.js')} shop 2>&1`, {}, 2)
  t.match(refused, /is not empty/)
  t.same(await readdir(shop), before)
})

t.test(
  'the Dockerfile builds without a registry and serves, and the host writes only where it may',
  async (t) => {
    const [build, image] = stagesOf(await readFile(join(shop, 'Dockerfile'), 'utf8'))
    const folder = join(home, 'srv', 'app')
    await mkdir(folder, { recursive: true })
    // Only our modules travel with the command.
    const lock = JSON.parse(await readFile(join(shop, 'modules.lock.json'), 'utf8'))
    delete lock.modules.wishlist
    await writeFile(join(shop, 'modules.lock.json'), JSON.stringify(lock))
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
    const previous = await readdir(folder)
    for (const options of [['--new-database'], []]) {
      // A new container has a new .app, and the volume.
      await rm(join(folder, '.app'), { recursive: true, force: true })
      const host = await serving(folder, [shell, option, script, name, ...options], secret)
      t.equal((await fetch(`${host.url}/cart`)).status, 200)
      t.equal(await host.end('SIGTERM'), 0, 'it stops in order')
    }
    t.same((await readdir(folder)).sort(), ['.app', ...previous].sort())
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
  const { readDescription } = await import('@mortise/installer')
  const found = (await readdir(folder)).map(async (name) => {
    const tarball = await readFile(join(folder, name))
    const json = readDescription(tarball) as { name: string; version: string }
    return [json.name, { json, tarball }] as const
  })
  return await Promise.all(found)
}

/** Runs lines of a shell. Returns what they say. */
async function run(folder: string, lines: string, more: NodeJS.ProcessEnv = {}, expected = 0) {
  const child = spawn('sh', ['-ec', lines], {
    cwd: folder,
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== expected) throw new Error(`${lines} ended with ${code}\n${stdout}${stderr}`)
  return stdout
}

/** An author's two: what serves keeps the first, everything else is typed into the second. */
function twoTerminals(t: Test, folder: string, said: string[]) {
  let here = folder
  let host: Awaited<ReturnType<typeof serving>> | undefined
  /** Ctrl+C reaches all that runs there. */
  async function interrupt(): Promise<void> {
    await host?.end('SIGINT')
    host = undefined
  }
  t.teardown(interrupt)
  const url = () => host?.url as string
  async function follow(lines: readonly string[]): Promise<void> {
    const calls: string[] = []
    for (const line of lines) {
      if (line.startsWith('cd ')) here = resolve(here, line.slice(3))
      else if (/^(npx app dev|npm start|app start)/.test(line)) {
        await interrupt()
        host = await serving(here, line)
      } else if (/^(curl |[A-Z]+=)/.test(line)) calls.push(line.replaceAll('curl ', 'curl -s -f '))
      else said.push(await run(here, line))
    }
    // One script, since they set variables.
    const script = calls.join('\n').replaceAll(/(http:\/\/127\.0\.0\.1|localhost):3000/g, url())
    if (script !== '') said.push(await run(here, script))
  }
  return { follow, interrupt, url }
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
  const group = -(child.pid as number)
  t.teardown(() => isRunning() && process.kill(group, 'SIGKILL'))
  let said = ''
  for await (const piece of child.stdout ?? []) {
    said += piece
    const [, url] = /Serving +(\S+)\n/.exec(said) ?? []
    if (url === undefined) continue
    /** @returns how it ends */
    const end = async (signal: NodeJS.Signals): Promise<unknown> => {
      process.kill(group, signal)
      const [code, by] = await once(child, 'exit')
      return code ?? by
    }
    return { url, end }
  }
  throw new Error(`${folder} does not serve: ${said}`)
}
