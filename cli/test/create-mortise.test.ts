import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { indexedNames } from '@mortise/installer/store'
import t, { type Test } from 'tap'

const creator = fileURLToPath(new URL('../../packages/create-mortise/', import.meta.url))

/** Runs `npm create mortise` where no registry can be reached. */
function create(t: Test, argv: readonly string[], node: readonly string[] = []) {
  const env = {
    ...process.env,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_cache: join(t.testdirName, 'npm-cache'),
    npm_config_fetch_retries: '0',
    NODE_OPTIONS: '',
  }
  const program = [...node, join(creator, 'bin.js'), ...argv]
  return spawnSync(process.execPath, program, { cwd: t.testdirName, env, encoding: 'utf8' })
}

t.test('it knows the short names that the command knows', async (t) => {
  const { modules } = JSON.parse(await readFile(join(creator, 'package.json'), 'utf8'))
  t.strictSame(modules, indexedNames)
})

t.test('an unknown module is refused before anything is made', (t) => {
  t.testdir({})
  const { status, stderr } = create(t, ['shop', '--modules', 'api-cart,api-crat'])
  t.equal(status, 3)
  t.match(stderr, /^Unknown module "api-crat"\. Mortise has api-cart, /)
  t.notOk(existsSync(join(t.testdirName, 'shop')))
  t.end()
})

t.test('a Node that is too old is refused before anything is made', async (t) => {
  t.testdir({})
  const old = join(t.testdirName, 'old-node.mjs')
  for (const version of ['20.19.0', '22.22.1', '23.1.0', '24.14.9', '25.0.0']) {
    await writeFile(old, `Object.defineProperty(process.versions, 'node', { value: '${version}' })`)
    const { status, stderr } = create(t, ['shop'], ['--import', old])
    t.equal(status, 2)
    t.ok(stderr.startsWith(`Node ${version} is too old.`), stderr)
    t.notOk(existsSync(join(t.testdirName, 'shop')))
  }
})

t.test('a failure leaves what was there before', async (t) => {
  const folder = t.testdir({})
  t.not(create(t, ['shop']).status, 0)
  t.notOk(existsSync(join(folder, 'shop')))
  await mkdir(join(folder, 'repository', '.git'), { recursive: true })
  t.not(create(t, ['repository']).status, 0)
  t.strictSame(await readdir(join(folder, 'repository')), ['.git'])
})
