import { spawnSync } from 'node:child_process'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { indexedNames } from '../src/install/resolve/module-index.ts'

const program = fileURLToPath(new URL('../../packages/create-mortise/bin.js', import.meta.url))

/** Runs it in `cwd`, where npm finds no registry. */
function create(cwd: string, ...argv: string[]) {
  const npm = { registry: 'http://127.0.0.1:9', fetch_retries: '0', cache: join(cwd, '.cache') }
  const settings = Object.entries(npm).map(([name, value]) => [`npm_config_${name}`, value])
  const env = { ...process.env, ...Object.fromEntries(settings) }
  return spawnSync(process.execPath, [program, ...argv], { cwd, encoding: 'utf8', env })
}

const isMade = async (cwd: string) => (await readdir(cwd)).includes('shop')

t.test('a module name that nobody knows is refused before anything is made', async (t) => {
  const cwd = t.testdir({})
  const { status, stderr } = create(cwd, 'shop', '--modules', 'api-cart,api-crat')
  t.equal(status, 3)
  t.match(stderr, /Unknown module "api-crat".*api-cart, api-purchase/)
  t.equal(await isMade(cwd), false)
})

t.test('a failed installation leaves no folder behind', async (t) => {
  const cwd = t.testdir({})
  const { status, stderr } = create(cwd, 'shop', '--modules', 'api-cart')
  t.not(status, 0)
  t.match(stderr, /"npm install" failed.*shop is as it was before/)
  t.equal(await isMade(cwd), false)
})

t.test('a repository that was there stays', async (t) => {
  const cwd = t.testdir({ shop: { '.git': { HEAD: 'ref: refs/heads/main' } } })
  const { status } = create(cwd, 'shop')
  t.not(status, 0)
  t.same(await readdir(join(cwd, 'shop')), ['.git'])
})

t.test('the names are those of the command', async (t) => {
  const source = await readFile(program, 'utf8')
  const names = /const bareNames = \[(.*)\]/.exec(source)?.[1]?.match(/[\w-]+/g)
  t.same(names, indexedNames)
})

t.test('a Node that is too old is refused before anything is made', async (t) => {
  const root = t.testdir({})
  const copy = join(root, 'create-mortise')
  await mkdir(copy)
  await cp(join(program, '..', 'package.json'), join(copy, 'package.json'))
  const old = "Object.defineProperty(process.versions, 'node', { value: '22.22.1' })\n"
  await writeFile(join(root, 'old-node.mjs'), old)
  await cp(program, join(copy, 'bin.js'))
  const argv = ['--import', join(root, 'old-node.mjs'), join(copy, 'bin.js'), 'shop']
  const { status, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: 'utf8' })
  t.equal(status, 2)
  t.match(stderr, /needs Node \^22\.22\.2 \|\| \^24\.15 \|\| >=26, and this is 22\.22\.1/)
  t.equal(await isMade(root), false)
})
