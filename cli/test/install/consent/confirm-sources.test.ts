import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { readLockFile } from '@mortise/host'
import t from 'tap'
import { app } from '../../../src/app.ts'
import { runApp, testApplication } from '../../run-app.ts'
import { sampleTarball } from '../../sample-module.ts'

/** Installs as someone at a terminal who types `reply`. */
async function installAt(reply: string, ...argv: string[]) {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const streams = { stdin: terminal(), stdout: new PassThrough(), stderr: terminal() }
  streams.stdin.end(`${reply}\n`)
  const exitCode = await app(['module-install', ...argv], streams)
  return { exitCode, said: String(streams.stderr.read()) }
}

t.test('on a terminal it asks about a new source; only yes installs', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  for (const reply of ['n', '', 'yesterday']) {
    const { exitCode, said } = await installAt(reply, file, '--dir', directory)
    t.equal(exitCode, 4, reply)
    t.match(said, /GET \/hello[\s\S]*hello\.tgz is a new source.*\[y\/N\]/)
    t.equal((await readLockFile(directory)).generation, 0)
  }
  t.equal((await installAt('y', file, '--dir', directory)).exitCode, 0)
  await sampleTarball(file, { version: '2.0.0' })
  const { exitCode, said } = await installAt('n', file, '--dir', directory)
  t.equal(exitCode, 0, 'the same origin is not asked about again')
  t.notMatch(said, /\[y\/N\]/)
})

t.test('--yes skips the question, and there is none for the index', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.equal((await installAt('n', file, '--yes', '--dir', directory)).exitCode, 0)
  t.equal((await installAt('n', 'api-cart', '--dir', directory)).exitCode, 0)
})

t.test('without a terminal there is no question, and the help says so', async (t) => {
  const { root, run } = await testApplication(t)
  t.equal((await run('module-install', await sampleTarball(join(root, 'hello.tgz')))).exitCode, 0)
  const { stdout } = await runApp('module-install', '--help')
  t.match(stdout.replace(/\s+/g, ' '), /--yes .*on a terminal only/)
})

t.test('a question without a reply ends, changes nothing and gives up the lock', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const streams = { stdin: terminal(), stdout: new PassThrough(), stderr: terminal(), patience: 50 }
  const argv = ['module-install', file, '--json', '--dir', directory]
  t.equal(await app(argv, streams), 4)
  t.match(JSON.parse(String(streams.stdout.read())), {
    error: { code: 'declined', message: 'Nothing was changed: nobody replied to the question in time.' },
  })
  t.equal((await readLockFile(directory)).generation, 0)
  t.equal((await run('module-install', file)).exitCode, 0, 'another command has the lock')
})
