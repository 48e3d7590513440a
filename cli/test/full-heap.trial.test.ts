import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { copiesWithHarm, started, until } from './late-modules.ts'

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

const copies = copiesWithHarm(allocates, 'let kept\n  let dropped\n  ')

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
