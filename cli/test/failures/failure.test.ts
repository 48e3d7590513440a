import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asFailure } from '@mortise/installer/explaining'
import { Failure } from '@mortise/installer/failures'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import {
  type SampleOptions,
  sampleFolder,
  sampleTarball,
} from '../../../packages/installer/test/sample-module.ts'
import { type Outcome, runApp, testApplication } from '../run-app.ts'

t.test('a quoted error ends with one full stop', async (t) => {
  const messageOf = (text: string) => new Failure('usage', 'x', text, '').message
  t.strictSame(['It failed', 'It failed.', 'It failed..', 'Did it?', 'Wait ...'].map(messageOf), [
    'It failed.',
    'It failed.',
    'It failed.',
    'Did it?',
    'Wait ...',
  ])
})

t.test('a file of another user is named, with a hint', async (t) => {
  const denied = { code: 'EACCES', path: '/srv/shop/.app/generations/7.json' }
  const failure = asFailure(Object.assign(new Error('EACCES: permission denied'), denied))
  t.match(failure, { exitCode: 1, code: 'permission-denied', hint: /chown -R/ })
  t.equal(failure.message, `This user may not read or write ${denied.path}.`)
})

const samples: Record<string, SampleOptions> = {
  broken: { files: { 'package.json': '{ "name": ' } },
  stranger: { json: { mortise: undefined } },
  wrong: { manifest: { routes: 'GET /x' } },
  future: { manifest: { host: '^99.0.0' } },
  peer: { json: { peerDependencies: { react: '*' } } },
  range: { json: { peerDependencies: { fastify: '^3.0.0' } } },
  contract: { manifest: { requires: { catalog: '^1' } } },
  route: { manifest: { routes: ['POST /guest'] } },
  tables: { manifest: { tables: 'mortise_x' } },
  dependency: { json: { dependencies: { x: 'github:a/b' } } },
  unreachable: { json: { dependencies: { x: '^1' } } },
  unbuilt: { json: { exports: './dist/index.js' } },
  throws: { main: 'throw new Error("on purpose")' },
  exits: { main: 'process.exit(1)' },
  migration: {
    manifest: { tables: 'x', migrations: 'migrations' },
    files: { 'migrations/001-x.sql': 'CREATE TABLE' },
  },
}

t.test('every failure is a sentence and has a hint', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const { registry } = await fakeRegistry(t, [published({ name: 'left-pad', version: '1.0.0' })])
  process.env.npm_config_registry = registry
  const failed: [name: string, outcome: Outcome][] = []
  const fails = async (name: string, outcome: Promise<Outcome>) => failed.push([name, await outcome])

  for (const [name, options] of Object.entries(samples)) {
    const folder = await sampleFolder(join(root, name), options)
    await fails(`folder ${name}`, run('module-install', '--yes', folder))
    const file = await sampleTarball(join(root, `${name}.tgz`), options)
    await fails(`file ${name}`, run('module-install', '--yes', file))
  }
  await mkdir(join(root, 'nothing'))
  const specs = ['./no', 'x y', 'a/b', 'api-crat', 'weather', 'npm:left-pad', 'npm:left-pod', '@acme/x@^9']
  for (const spec of [...specs, join(root, 'nothing'), join(root, 'throws', 'package.json')]) {
    await fails(spec, run('module-install', spec))
  }
  await fails('info', run('module-info', 'api-crat'))
  await fails('init twice', runApp('init', 'a', '--dir', 'b', '--json'))
  await fails('init on a file', runApp('init', join(root, 'throws', 'package.json'), '--json'))
  for (const argv of [['ini'], ['toke', 'x'], ['token', 'x', 'y'], ['token'], ['start', '--prt', '1'], []]) {
    await fails(`app ${argv.join(' ')}`, runApp(...argv, '--json'))
  }
  await fails('expires', run('token', 'a', '--expires', 'soon'))
  await fails('port', run('start', '--port', 'x'))
  await fails('host', run('start', '--host', '203.0.113.1', '--port', '0'))
  await fails('no application', runApp('start', '--dir', root, '--json'))
  await rm(join(directory, '.app', 'secret'))
  await fails('no secret', run('token', 'a'))
  const config = join(directory, 'app.config.json')
  const settings = JSON.parse(await readFile(config, 'utf8'))
  for (const text of ['{', '[]', JSON.stringify({ ...settings, servr: {} })]) {
    await writeFile(config, text)
    await fails(`config ${text}`, run('module-install', 'api-cart'))
  }

  for (const [name, { exitCode, json }] of failed) {
    t.not(exitCode, 0, name)
    t.match(json.error.message, /^["A-Z].*[.?!…]$/s, name)
    t.notMatch(json.error.message, /[^.]\.\.$|\n|\.staging-/, name)
    t.match(json.error.hint, /^[A-Z]/, name)
    t.notMatch(json.error.message + json.error.hint, /verbose to see/, `${name} is expected`)
    if (name.startsWith('folder')) t.notMatch(json.error.hint, /author/, name)
  }
  const errorOf = (name: string) => new Map(failed).get(name)?.json.error
  t.equal(
    errorOf('app token x y').message,
    "Too many arguments for 'token'. Expected 1 argument but got 2: x, y.",
  )
  t.equal(errorOf('app ini').message, "Unknown command 'ini'. Did you mean init?")
  t.match(errorOf('folder broken'), {
    exitCode: 4,
    message: `${join(root, 'broken', 'package.json')} is not JSON`,
  })
  t.match(errorOf('file throws').hint, /author/)
  t.match(errorOf('npm:left-pad'), { exitCode: 4, message: /not a Mortise module/, hint: /api-cart/ })
  t.match(errorOf(join(root, 'throws', 'package.json')).hint, join(root, 'throws'))
})
