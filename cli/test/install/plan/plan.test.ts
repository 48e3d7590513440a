import { existsSync } from 'node:fs'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { app } from '../../../src/app.ts'
import { copiesOf } from '../../run-app.ts'

/** A clone of an application with hello, as git brings it: no store, no history. */
const withHello = copiesOf(async ({ root, run }) => {
  await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))
})

async function cloned(t: Test) {
  const application = await withHello(t)
  const { directory } = application
  for (const name of ['store', 'generations']) await rm(join(directory, '.app', name), { recursive: true })
  return application
}

const storeOf = async (directory: string) => {
  const store = join(directory, '.app', 'store')
  return existsSync(store) ? (await readdir(store)).filter((name) => !name.startsWith('.')) : []
}

/** Runs a command as someone at a terminal who types `reply`. */
async function at(reply: string, ...argv: string[]) {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const streams = { stdin: terminal(), stdout: new PassThrough(), stderr: terminal() }
  streams.stdin.end(`${reply}\n`)
  const exitCode = await app(argv, streams)
  return { exitCode, said: String(streams.stderr.read()) }
}

t.test(
  'the packages of a lock file are planned before they are in the store, and a dry run adds none',
  async (t) => {
    const { directory, run } = await cloned(t)
    const lock = JSON.parse(await readFile(join(directory, 'modules.lock.json'), 'utf8'))
    const { integrity, tree } = lock.modules.hello
    for (const words of [['--dry-run'], []]) {
      t.strictSame(await storeOf(directory), [])
      const { exitCode, json, stderr } = await run('module-install', '--yes', ...words)
      t.equal(exitCode, 0)
      t.match(json, {
        restored: ['hello'],
        fetched: [{ id: 'hello', integrity, tree, origin: /hello\.tgz$/, dependencies: [] }],
      })
      t.match(stderr, /^hello 1\.0\.0, from \S+hello\.tgz\n(?: .*\n)* {2}changes +\+ GET \/hello$/m)
    }
    t.equal((await storeOf(directory)).length, 1)
    const again = await run('module-install')
    t.match(again.json, { restored: [], fetched: [] })
    t.notMatch(again.stderr, /integrity/)
  },
)

t.test('on a terminal it asks about a new source; --yes skips the question', async (t) => {
  const { root, directory } = await cloned(t)
  const declined = await at('n', 'module-install', '--dir', directory)
  t.equal(declined.exitCode, 4)
  t.match(declined.said, /GET \/hello[\s\S]*hello\.tgz is a new source.*\[y\/N\]/)
  t.strictSame(await storeOf(directory), [])
  const other = join(root, 'other')
  await cp(directory, other, { recursive: true })
  t.equal((await at('n', 'module-install', '--yes', '--dir', other)).exitCode, 0)
  t.equal((await at('y', 'module-install', '--dir', directory)).exitCode, 0)
  t.equal((await storeOf(directory)).length, 1)
})

t.test('there is no question about a known source', async (t) => {
  const { directory } = await withHello(t)
  const [name = ''] = await storeOf(directory)
  await writeFile(join(directory, '.app', 'store', name, 'index.js'), 'damaged')
  const { exitCode, said } = await at('n', 'module-install', '--dir', directory)
  t.equal(exitCode, 0)
  t.match(said, /^hello 1\.0\.0, again from /m)
  t.notMatch(said, /\[y\/N\]/)
})
