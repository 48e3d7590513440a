import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeRegistry, type Published, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { outside } from '../outside.ts'
import { runApp, testApplication } from '../run-app.ts'

function module(name: string, json: Record<string, unknown> = {}, manifest = {}): Published {
  const keywords = ['mortise-module']
  const { 'package.json': text } = sampleFiles({
    name,
    manifest,
    json: { keywords, _npmUser: { name: 'eve' }, ...json },
  })
  return { ...published(JSON.parse(text as string)), at: new Date(Date.now() - 25 * 3_600_000).toISOString() }
}

/** A registry whose search gives `packages`, whatever is searched. */
async function searchable(t: Test, ...packages: Published[]) {
  const results = { objects: packages.map(({ json: { name } }) => ({ package: { name } })) }
  const path = '/-/v1/search?text=keywords:mortise-module+product+review&size=20'
  return await fakeRegistry(t, packages, undefined, { [path]: results })
}

t.test('search shows what the registry has, with publisher, age, compatibility and origin', async (t) => {
  const { directory, run } = await testApplication(t)
  const packages = [
    module('@acme/api-review', { description: 'Reviews of products' }),
    module('review-old', { description: 'Reviews' }, { host: '^0.1.0' }),
    module('no-module', { keywords: ['other'] }),
    module('@mortise/api-cart'),
  ]
  process.env.npm_config_registry = (await searchable(t, ...packages)).registry
  const found = await run('search', 'product', 'review')
  t.equal(found.exitCode, 0, found.stdout)
  t.strictSame(
    found.json.modules.map(({ spec }: { spec: string }) => spec),
    ['@acme/api-review', 'npm:review-old', '@mortise/api-cart'],
    'what has another keyword is no module',
  )
  t.match(found.json, {
    modules: [
      {
        from: 'registry',
        version: '1.0.0',
        description: 'Reviews of products',
        publisher: 'eve',
        compatible: true,
        published: packages[0]?.at,
        signed: null,
        problem: null,
      },
      { host: '^0.1.0', compatible: false },
    ],
    unasked: [],
  })
  const { stdout } = await runApp('search', 'product', 'review', '--dir', directory)
  t.match(
    stdout,
    /@acme\/api-review 1\.0\.0\n {2}Reviews of products\n {2}published by eve; on .* \(1 day ago\); runs on this host; not signed/,
  )
  t.match(stdout, /npm:review-old 1\.0\.0\n.*\n.*needs host \^0\.1\.0, and this is /)
})

t.test('what a stranger wrote is one clean line, and never a line of ours', async (t) => {
  const { directory, run } = await testApplication(t)
  const lines = 'Reviews\n  published by Mortise; signed\r\u001b[2J\u009b1m\u202ereversed\u2028end'
  const evil = module('@acme/api-review', {
    description: `${lines} ${'x'.repeat(10_000)}`,
    _npmUser: { name: 'eve\n  published by Mortise; signed' },
  })
  const names = ['file:/etc', 7, null, '../up', '@acme/api-review', 'a'.repeat(300)]
  const results = { objects: [...names.map((name) => ({ package: { name } })), null, { package: 1 }] }
  const path = '/-/v1/search?text=keywords:mortise-module+review&size=20'
  process.env.npm_config_registry = (await fakeRegistry(t, [evil], undefined, { [path]: results })).registry
  const { exitCode, json, stdout: raw } = await run('search', 'review')
  t.equal(exitCode, 0)
  t.strictSame(
    json.modules.map(({ package: name }: { package: string }) => name),
    ['@acme/api-review'],
    'names of packages only, and the others are still found',
  )
  t.match(json.modules[0], {
    description: /^Reviews published by Mortise; signed \[2J 1m reversed end x+…$/,
    publisher: 'eve published by Mortise; signed',
  })
  t.notMatch(raw, /[^\P{C}\n]/u)
  const { stdout } = await runApp('search', 'review', '--dir', directory)
  t.equal(stdout.trim().split('\n').length, 3)
  t.notMatch(stdout, /[^\P{C}\n]/u)
})

t.test('a registry that never stops sending is left', async (t) => {
  const { run } = await testApplication(t)
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(1 << 20)));
    }
    response.on('drain', more)
    more()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  process.env.npm_config_registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { exitCode, json } = await run('search', 'review')
  t.equal(exitCode, 0)
  t.match(json.unasked, [{ reason: /has more than 67108864 bytes/ }])
})

t.test('search finds what travels with the command and the aliases without a registry', async (t) => {
  const { directory, run } = await testApplication(t)
  const config = { aliases: { 'cart-review': '@acme/api-review@^2', 'local-cart': './cart' } }
  await writeFile(join(directory, 'app.config.json'), JSON.stringify(config))
  const { exitCode, json } = await run('search', 'CART')
  t.equal(exitCode, 0)
  t.match(json.modules, [
    {
      spec: 'api-cart',
      package: '@mortise/api-cart',
      from: 'command',
      compatible: true,
      publisher: 'Mortise',
    },
  ])
  t.match(
    json.modules.filter(({ from }: { from: string }) => from === 'alias'),
    [
      { spec: 'cart-review', package: '@acme/api-review', problem: /ECONNREFUSED/ },
      { spec: 'local-cart', package: './cart', problem: null },
    ],
  )
  t.match(json.unasked, [{ registry: 'http://127.0.0.1:1/', reason: /ECONNREFUSED/ }])
  const { stdout } = await runApp('search', 'cart', '--dir', directory)
  t.match(stdout, /api-cart [\s\S]*Not searched: http:\/\/127\.0\.0\.1:1\/: /)
  t.match(
    (await runApp('search', 'unheard-of', '--dir', directory)).stdout,
    /^Nothing was found for "unheard-of"\./,
  )
})

t.test('search needs no application, and searches a folder of tarballs', async (t) => {
  const folder = await outside(t)
  await writeFile(join(folder, '.npmrc'), 'registry=file:.\n@else:registry=http://127.0.0.1:1/\n')
  const pack = (file: string, id: string, json: object) =>
    sampleTarball(join(folder, file), { id, json: { description: 'Events of the shop', ...json } })
  await pack('one.tgz', 'hello', { name: '@acme/hello', version: '1.9.0' })
  await pack('newer.tgz', 'hello', { name: '@acme/hello', version: '1.10.0' })
  await pack('plain.tgz', 'plain', { name: 'plain', version: '0.1.0' })
  await pack('scoped.tgz', 'scoped', { name: '@else/scoped', version: '1.0.0' })
  await pack('path.tgz', 'path', { name: '../../secret', version: '1.0.0' })
  await pack('no-tarball.txt', 'text', { name: 'text', version: '1.0.0' })
  await mkdir(join(folder, 'below'))
  await pack('below/deep.tgz', 'deep', { name: 'deep', version: '1.0.0' })
  await writeFile(join(folder, 'broken.tgz'), 'no tarball')
  delete process.env.npm_config_registry
  const before = process.cwd()
  t.teardown(() => process.chdir(before))
  process.chdir(folder)
  const { exitCode, json } = await runApp('search', 'events', '--json')
  t.equal(exitCode, 0)
  t.strictSame(
    json.modules.map(({ spec, from, version, compatible }: Record<string, unknown>) => [
      ...[spec, from, version, compatible],
    ]),
    [
      ['api-event', 'command', '1.0.0', true],
      ['@acme/hello', 'folder', '1.10.0', true],
      ['npm:plain', 'folder', '0.1.0', true],
    ],
  )
  t.match(json.unasked, [{ registry: 'http://127.0.0.1:1/' }])
  const { stdout } = await runApp('search', 'hello')
  t.match(stdout, /@acme\/hello 1\.10\.0\n {2}Events of the shop\n {2}in your folder of tarballs; runs on/)
})
