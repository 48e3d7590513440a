import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { readLockFile } from '@mortise/host'
import t from 'tap'
import { app } from '../../../src/app.ts'
import { runApp, testApplication } from '../../run-app.ts'
import { sampleTarball } from '../../sample-module.ts'

/** Installs as somebody at a terminal who answers `answer`. */
async function installAt(answer: string, ...argv: string[]) {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true })
  const streams = { stdin: terminal(), stdout: new PassThrough(), stderr: terminal() }
  streams.stdin.end(`${answer}\n`)
  const exitCode = await app(['module-install', ...argv], streams)
  return { exitCode, said: String(streams.stderr.read()) }
}

t.test('an origin that was not seen before is asked about; anything but yes installs nothing', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  for (const answer of ['n', '', 'yesterday']) {
    const { exitCode, said } = await installAt(answer, file, '--dir', directory)
    t.equal(exitCode, 4, answer)
    t.match(said, /GET \/hello[\s\S]*hello\.tgz is not an origin of anything installed now.*\[y\/N\]/)
    t.equal((await readLockFile(directory)).generation, 0)
  }
  t.equal((await installAt('y', file, '--dir', directory)).exitCode, 0)
  await sampleTarball(file, { version: '2.0.0' })
  const { exitCode, said } = await installAt('n', file, '--dir', directory)
  t.equal(exitCode, 0, 'the same origin is not asked about again')
  t.notMatch(said, /\[y\/N\]/)
})

t.test('--yes answers, and the index is not asked about', async (t) => {
  const { root, directory } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.equal((await installAt('n', file, '--yes', '--dir', directory)).exitCode, 0)
  t.equal((await installAt('n', 'api-cart', '--dir', directory)).exitCode, 0)
})

t.test('piped, nobody is asked; the help says so', async (t) => {
  const { root, run } = await testApplication(t)
  t.equal((await run('module-install', await sampleTarball(join(root, 'hello.tgz')))).exitCode, 0)
  const { stdout } = await runApp('module-install', '--help')
  t.match(stdout.replace(/\s+/g, ' '), /--yes .*on a terminal only, never when piped/)
})
