import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import {
  type SampleOptions,
  sampleFiles,
  sampleFolder,
  sampleTarball,
} from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'

const events = [
  'preinstall',
  'install',
  'postinstall',
  'preprepare',
  'prepare',
  'postprepare',
  'prepack',
  'postpack',
  'prepublish',
  'prepublishOnly',
  'dependencies',
]

t.test('no script of a module or of its dependencies ever runs', async (t) => {
  const { root, run } = await testApplication(t)
  const ran = join(root, 'ran')
  const scripts = Object.fromEntries(
    events.map((event) => [event, `echo ${event} >> ${JSON.stringify(ran)}`]),
  )
  // npm runs node-gyp where it finds such a file, and a pattern in it is a command.
  const binding = `{ "targets": [{ "target_name": "x", "sources": ["<!(touch ${ran})"] }] }`
  const module = (id: string): SampleOptions => ({
    id,
    json: { scripts, gypfile: true, dependencies: { scripted: '^1.0.0' } },
    files: { 'binding.gyp': binding, '.npm-extension.mjs': 'process.exit(1)' },
  })
  const scripted = published({ name: 'scripted', version: '1.0.0', scripts }, { 'binding.gyp': binding })
  const { 'package.json': json, ...files } = sampleFiles(module('registered'))
  const { registry } = await fakeRegistry(t, [scripted, published(JSON.parse(json as string), files)])
  process.env.npm_config_registry = registry

  const outcome = await run(
    'module-install',
    '--yes',
    await sampleFolder(join(root, 'folder'), module('folder')),
    await sampleTarball(join(root, 'packed.tgz'), module('packed')),
    '@acme/registered',
  )
  t.equal(outcome.exitCode, 0, outcome.stdout)
  t.equal(outcome.json.installed.length, 3)
  t.notOk(existsSync(ran))
})
