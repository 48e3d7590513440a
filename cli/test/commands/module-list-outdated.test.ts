import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleFolder, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'

const version = (id: string, number: string) => {
  const { 'package.json': json, ...files } = sampleFiles({ id, version: number }) as {
    'package.json': string
  }
  return published(JSON.parse(json), files)
}

t.test('--outdated shows the newest version in the range and the newest of all', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const packages = [version('hello', '1.0.0'), version('still', '1.0.0')]
  const { registry, requests } = await fakeRegistry(t, packages)
  process.env.npm_config_registry = registry
  await mkdir(join(root, 'packages'))
  const pack = (number: string) =>
    sampleTarball(join(root, 'packages', `near-${number}.tgz`), {
      name: '@near/x',
      id: 'near',
      version: number,
    })
  await pack('1.0.0')
  await writeFile(join(directory, '.npmrc'), '@near:registry=file:../packages\n')
  t.equal((await run('module-install', '--yes', '@acme/hello', '@acme/still', '@near/x@~1.0.0')).exitCode, 0)
  t.match((await runApp('module-list', '--outdated', '--dir', directory)).stdout, /^Nothing is outdated\.$/m)

  packages.push(version('hello', '1.2.0'), version('hello', '2.0.0'))
  await pack('1.0.1')
  await pack('1.1.0')
  requests.length = 0
  t.match(await run('module-list', '--outdated'), {
    exitCode: 0,
    json: {
      modules: [
        {
          id: 'hello',
          version: '1.0.0',
          wanted: '1.2.0',
          latest: '2.0.0',
          outdated: true,
          unreachable: null,
        },
        {
          id: 'still',
          version: '1.0.0',
          wanted: '1.0.0',
          latest: '1.0.0',
          outdated: false,
          unreachable: null,
        },
        { id: 'near', version: '1.0.0', wanted: '1.0.1', latest: '1.1.0', outdated: true, unreachable: null },
      ],
    },
  })
  t.strictSame(requests.sort(), ['/@acme/hello', '/@acme/still'], 'one request for each, and no package')
  const { stdout } = await runApp('module-list', '--outdated', '--dir', directory)
  t.match(stdout, /^hello 1\.0\.0 → 1\.2\.0 {2}app module-upgrade hello$/m)
  t.match(stdout, /^hello 1\.0\.0 → 2\.0\.0, outside its range {2}app module-upgrade hello@2\.0\.0$/m)
  t.notMatch(stdout, /still/)
  t.match(await run('module-upgrade'), {
    json: {
      installed: [
        { id: 'hello', version: '1.2.0' },
        { id: 'near', version: '1.0.1' },
      ],
    },
  })
})

t.test('--outdated reads folders and files again, and reports unreachable sources', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const { registry } = await fakeRegistry(t, [version('hello', '1.0.0')])
  process.env.npm_config_registry = registry
  const folder = await sampleFolder(join(root, 'mine'), { id: 'mine' })
  const file = await sampleTarball(join(root, 'packed.tgz'), { id: 'packed' })
  const gone = await sampleTarball(join(root, 'gone.tgz'), { id: 'gone' })
  await run('module-install', '--yes', folder, file, gone, '@acme/hello')
  await sampleFolder(folder, { id: 'mine', files: { 'note.txt': 'new' } })
  await sampleTarball(file, { id: 'packed', version: '0.9.0' })
  await rm(gone)
  process.env.npm_config_registry = 'http://127.0.0.1:1/'
  process.env.npm_config_fetch_retries = '0'
  t.teardown(() => delete process.env.npm_config_fetch_retries)
  t.match(await run('module-list', '--outdated'), {
    exitCode: 0,
    json: {
      modules: [
        { id: 'mine', wanted: '1.0.0', outdated: true },
        { id: 'packed', wanted: '0.9.0', outdated: true },
        { id: 'gone', wanted: null, latest: null, outdated: false, unreachable: /does not exist/ },
        { id: 'hello', wanted: null, outdated: false, unreachable: /cannot be downloaded/ },
      ],
    },
  })
  const { stdout } = await runApp('module-list', '--outdated', '--dir', directory)
  t.match(stdout, /^mine 1\.0\.0 → 1\.0\.0, other files {2}app module-upgrade mine$/m)
  t.match(stdout, /^packed 1\.0\.0 → 0\.9\.0 {2}/m)
  t.match(stdout, /^hello 1\.0\.0 {2}cannot be checked: /m)
})

t.test('if no source can be reached, the list is printed and the exit code is 3', async (t) => {
  const { root, run, directory } = await testApplication(t)
  const gone = await sampleTarball(join(root, 'gone.tgz'), { id: 'gone' })
  await run('module-install', '--yes', gone)
  await rm(gone)
  const { exitCode, json, stderr } = await run('module-list', '--outdated')
  t.equal(exitCode, 3)
  t.match(json, { modules: [{ id: 'gone', unreachable: String }] })
  t.match(stderr, /^No module could be checked/)
  const { stdout } = await runApp('list', '--outdated', '--dir', directory)
  t.notMatch(stdout, /Nothing is outdated/)
})

t.test('without modules there is no request', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('module-list', '--outdated'), { exitCode: 0, json: { modules: [] } })
})

t.test('module-list has one line a module, and its routes with --verbose', async (t) => {
  const { root, directory, run } = await testApplication(t)
  await run('install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
  const list = async (...more: string[]) => (await runApp('list', ...more, '--dir', directory)).stdout
  t.equal(await list(), 'hello  1.0.0  active  1 route\nGeneration 1, not running.\n')
  t.match(await list('--verbose'), /^hello {2}1\.0\.0 {2}active {2}GET \/hello$/m)
})
