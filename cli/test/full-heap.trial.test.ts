import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { started, until } from './late-modules.ts'
import { copiesOf } from './run-app.ts'
import { sampleTarball } from './sample-module.ts'

/** In MiB: a heap that is full after some seconds. */
process.env.NODE_OPTIONS = '--max-old-space-size=300'

/** Twice is enough on a quiet machine. */
const MOST = 4

/** Code by name: what a request allocates. */
const allocates = {
  keeps: `kept ??= []
    setInterval(() => kept.push(Array.from({ length: 200_000 }, (_, at) => at + 0.5)), 40)`,
  drops: `const end = Date.now() + 3_000
    while (Date.now() < end) {
      dropped = Array.from({ length: 200_000 }, (_, at) => ({ at }))
      await new Promise(setImmediate)
    }`,
}

const copies = copiesOf(async ({ root, run }) => {
  const plugin = `let kept
  let dropped
  app.get('/hello', { config: { access: 'public' } }, async (request) => {
    ${Object.entries(allocates)
      .map(([name, code]) => `if (request.headers.with === '${name}') { ${code} }`)
      .join('\n')}
    return { version: '1.0.0' }
  })`
  for (const [id, more] of [
    ['hello', { plugin }],
    ['other', {}],
  ] as const) {
    const file = await sampleTarball(join(root, `${id}.tgz`), { id, ...more })
    const { exitCode, stdout } = await run('module-install', file)
    if (exitCode !== 0) throw new Error(stdout)
  }
})

t.test('a module that fills the memory ends the host, and is in quarantine', async (t) => {
  const application = await copies(t)
  const host = await started(t, application, [], [])
  const statusOf = (path: string, headers = {}) =>
    fetch(`${host.url}${path}`, { headers: { connection: 'close', ...headers } }).then(
      ({ status }) => status,
      () => 0,
    )
  const ends = () => host.stderr.match(/The host ended: /g)?.length ?? 0
  // If others leave the machine too little, V8 ends the process first, and nobody is blamed for that.
  for (let before = ends(); (await statusOf('/hello', { with: 'keeps' })) === 200; before = ends()) {
    t.ok(before < MOST, `it ends for the ${before + 1}. time`)
    await until(() => ends() > before)
    await until(async () => (await statusOf('/other')) === 200)
  }
  t.equal(await statusOf('/hello'), 503)
  const { reason } = (await application.run('module-list')).json.modules[0]
  t.match(
    reason,
    /^it has ended the host 2 times in 10 minutes, last: hello fills the memory: it holds \d+ MB of \d+ MB, most of it from index\.js:\d+$/,
  )
})

t.test('a module that leaves garbage is not blamed', async (t) => {
  const application = await copies(t)
  const host = await started(t, application, [], [])
  const response = await fetch(`${host.url}/hello`, { headers: { with: 'drops' } })
  t.equal(response.status, 200)
  t.same(await readdir(join(application.directory, '.app', 'ends')).catch(() => []), [])
})
