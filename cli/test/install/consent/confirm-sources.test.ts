import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { sampleFolder, sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { app } from '../../../src/app.ts'
import { runApp, testApplication } from '../../run-app.ts'

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

/** A module that notes each time its code runs, in a folder where the probe may not write. */
const noting = { main: 'globalThis.console.error("ran")\nprocess.exit(7)' }

t.test('without a terminal a new source needs --yes, before any of its code runs', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), noting)
  const folder = await sampleFolder(join(root, 'folder'), { ...noting, id: 'folder' })
  for (const spec of [file, folder]) {
    t.match(await run('module-install', spec), {
      exitCode: 4,
      json: { error: { code: 'new-source', message: /^No code has run: .* is a new source/ } },
    })
    t.match(await run('module-install', spec, '--dry-run'), {
      exitCode: 0,
      json: { dryRun: true, probed: false, installed: [{ isNewSource: true, access: null }] },
      stderr: /none of the code has run/,
    })
  }
  const both = await run('module-install', file, folder)
  t.match(both.json.error.message, /hello\.tgz and .*folder are new sources/)
  t.equal((await readLockFile(directory)).generation, 0)
  for (const agreed of [['--yes'], ['--yes', '--dry-run']])
    t.match(await run('module-install', file, ...agreed), {
      exitCode: 4,
      json: { error: { code: 'probe-failed' } },
    })
  const { stdout } = await runApp('module-install', '--help')
  t.match(stdout.replace(/\s+/g, ' '), /--yes .*without a terminal, a new source needs it/)
})

t.test('what was agreed to once is not new, also after its removal', async (t) => {
  const { root, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'))
  t.match(await run('module-install', file, '--yes'), { exitCode: 0, json: { probed: true } })
  t.equal((await run('module-remove', 'hello')).exitCode, 0)
  t.match(await run('module-install', file, '--dry-run'), { exitCode: 0, json: { probed: true } })
  t.match(await run('module-install', file), { exitCode: 0 })
})

t.test('a bundle proves no source by the names in it', async (t) => {
  const { root, directory, run } = await testApplication(t)
  t.equal((await run('module-install', 'api-cart', 'api-event')).exitCode, 0)
  const bundle = join(root, 'shop.tgz')
  t.equal((await run('bundle', bundle)).exitCode, 0)
  t.match(await run('module-install', bundle, '--dry-run'), { exitCode: 0 }, 'the same bytes are known')
  const other = await newApplication(join(root, 'other'))
  const message = `No code has run: ${bundle} is a new source, and nobody has agreed to it.`
  t.match(await other('module-install', bundle), {
    exitCode: 4,
    json: { error: { code: 'new-source', message } },
  })
  t.match(await other('module-install', bundle, '--yes'), { exitCode: 0 })
  t.equal((await readLockFile(directory)).generation, 1)
})

async function newApplication(directory: string) {
  await runApp('init', directory)
  return (...argv: string[]) => runApp(...argv, '--dir', directory, '--json')
}

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
  t.equal((await run('module-install', file, '--yes')).exitCode, 0, 'another command has the lock')
})
