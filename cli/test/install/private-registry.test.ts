import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import { type Published, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'
import { listening, verdaccio } from '../verdaccio.ts'

/** A registry for everybody, which remembers what it was asked, and with which credentials. */
async function publicRegistry(t: Test, respond: (path: string, response: ServerResponse) => void) {
  const asked: { path: string; authorization: string | undefined }[] = []
  const server = createServer(({ url = '', headers: { authorization } }: IncomingMessage, response) => {
    const path = decodeURIComponent(url)
    asked.push({ path, authorization })
    respond(path, response)
  })
  return { host: await listening(t, server), asked }
}

const integrityOf = (data: Buffer) => `sha512-${createHash('sha512').update(data).digest('base64')}`

function packument({ json, tarball }: Published, address: string): string {
  const integrity = integrityOf(tarball)
  const versions = { [json.version]: { ...json, dist: { tarball: address, integrity } } }
  return JSON.stringify({ name: json.name, 'dist-tags': { latest: json.version }, versions })
}

const nothing = (_: string, response: ServerResponse) => response.writeHead(404).end('{}')

function module(dependencies: Readonly<Record<string, string>> = {}, version = '1.0.0'): Published {
  const { 'package.json': json, ...files } = sampleFiles({ version, json: { dependencies } })
  return published(JSON.parse(json as string), files)
}

/** An application whose .npmrc binds a scope; its token comes from the environment. */
async function boundApplication(t: Test, scope: string, bound: string, other: string) {
  const application = await testApplication(t)
  delete process.env.npm_config_registry
  process.env.npm_config_fetch_retries = '0'
  const lines = [
    `registry=http://${other}/`,
    `${scope}:registry=http://${bound}/`,
    `//${bound}/:_authToken=\${REGISTRY_TOKEN}`,
  ]
  await writeFile(join(application.directory, '.npmrc'), `${lines.join('\n')}\n`)
  t.teardown(() => {
    for (const name of ['REGISTRY_TOKEN', 'npm_config_fetch_retries']) delete process.env[name]
  })
  return application
}

t.test('a private registry gets its token for a module, and no other server gets it', async (t) => {
  const own = await verdaccio(t, { '@acme/*': { access: '$authenticated', publish: '$authenticated' } })
  const word = published({ name: 'word', version: '1.0.0' }, { 'index.js': '' })
  const { host, asked } = await publicRegistry(t, (path, response) => {
    if (path === '/word.tgz') return response.end(word.tarball)
    if (path !== '/word') return nothing(path, response)
    response.end(packument(word, `http://${host}/word.tgz`))
  })
  await own.publish(module({ word: '^1.0.0' }))
  const { directory, run } = await boundApplication(t, '@acme', own.host, host)

  process.env.REGISTRY_TOKEN = own.token
  const outcome = await run('module-install', '--yes', '@acme/hello')
  t.equal(outcome.exitCode, 0, outcome.stdout)
  t.match((await readLockFile(directory)).modules.hello, { version: '1.0.0', spec: '@acme/hello@^1.0.0' })
  await own.publish(module({ word: '^1.0.0' }, '1.1.0'))
  const upgrade = await run('module-upgrade', 'hello')
  t.equal(upgrade.exitCode, 0, upgrade.stdout)
  t.match((await readLockFile(directory)).modules.hello, { version: '1.1.0' })
  for (const text of [
    outcome.stdout + outcome.stderr,
    upgrade.stdout + upgrade.stderr,
    await readFile(join(directory, 'modules.lock.json'), 'utf8'),
  ])
    t.notOk(text.includes(own.token))
  t.ok(asked.length > 0)
  t.strictSame(
    asked.filter(({ path, authorization }) => path.includes('acme') || authorization !== undefined),
    [],
  )
})

t.test('a wrong or missing token is reported, and no other registry gets a request', async (t) => {
  const own = await verdaccio(t, { '@acme/*': { access: '$authenticated', publish: '$authenticated' } })
  await own.publish(module())
  const { host, asked } = await publicRegistry(t, nothing)
  const { run } = await boundApplication(t, '@acme', own.host, host)
  for (const token of ['wrong', '']) {
    process.env.REGISTRY_TOKEN = token
    const outcome = await run('module-install', '--yes', '@acme/hello')
    t.match(outcome, { exitCode: 3, json: { error: { code: 'unauthorized', hint: /_authToken/ } } })
    t.notOk(outcome.stdout.includes(own.token))
  }
  process.env.REGISTRY_TOKEN = own.token
  t.match(await run('module-install', '--yes', '@acme/none'), {
    exitCode: 3,
    json: { error: { code: 'no-such-version' } },
  })
  t.strictSame(asked, [])
})

t.test('a token does not follow a tarball, or a redirection, to another host', async (t) => {
  const one = module()
  const elsewhere = await publicRegistry(t, (_, response) => response.end(one.tarball))
  const away = `http://localhost:${elsewhere.host.split(':')[1]}/tarball`
  for (const redirected of [false, true]) {
    await t.test(redirected ? 'a redirection' : 'a tarball', async (t) => {
      const own = await publicRegistry(t, (path, response) => {
        if (path === '/redirected') return response.writeHead(302, { location: away }).end()
        if (path !== '/@acme/hello') return nothing(path, response)
        response.end(packument(one, redirected ? `http://${own.host}/redirected` : away))
      })
      const { run } = await boundApplication(t, '@acme', own.host, elsewhere.host)
      process.env.REGISTRY_TOKEN = 'secret-of-ours'
      t.equal((await run('module-install', '--yes', '@acme/hello')).exitCode, 0)
      t.ok(own.asked.some(({ authorization }) => authorization === 'Bearer secret-of-ours'))
    })
  }
  t.ok(elsewhere.asked.length > 0)
  t.ok(elsewhere.asked.every(({ authorization }) => authorization === undefined))
})
