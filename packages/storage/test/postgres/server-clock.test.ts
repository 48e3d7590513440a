import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { ServerClock } from '../../src/postgres/server-clock.ts'
import { testOnPostgres } from '../engines.ts'

t.test('the clock is behind the server by the fastest response, and follows it', async (t) => {
  let elapsed = 0
  let server = 1_000_000
  const clock = new ServerClock(() => elapsed)
  /** The server responds at once; the response takes so long. */
  const ask = (milliseconds: number) => {
    const time = server * 1000
    pass(milliseconds)
    clock.sample(time)
  }
  const pass = (milliseconds: number, drift = 0) => {
    elapsed += milliseconds
    server += milliseconds + drift
  }
  ask(80)
  t.equal(server - clock.now(), 80)
  ask(3)
  ask(50)
  t.equal(server - clock.now(), 3, 'the fastest counts')
  pass(6_000, -40)
  ask(2)
  pass(6_000)
  ask(2)
  t.equal(server - clock.now(), 2, 'it follows a server that is slower')
})

testOnPostgres('two hosts whose clocks differ write times and ids in order', async (t, open, url) => {
  const storage = await open('CREATE TABLE made (id TEXT PRIMARY KEY, at BIGINT, nth BIGINT)')
  const hosts = await Promise.all(
    [180_000, -180_000].map(async (by) => {
      const host = fork(join(import.meta.dirname, 'skewed-host.ts'), [String(by), url])
      t.teardown(() => host.kill('SIGKILL'))
      await once(host, 'message')
      return host
    }),
  )
  for (let row = 0; row < 200; row += 1) {
    const host = hosts[row % 2]
    const written = host && once(host, 'message')
    host?.send('write')
    await written
  }
  const rows = await storage.many<{ at: number; id: string }>(sql`SELECT at, id FROM made ORDER BY nth`)
  t.equal(rows.length, 200)
  const after = (index: number) => rows[index + 1] ?? { at: Number.POSITIVE_INFINITY, id: '' }
  t.strictSame(
    rows.filter(({ at }, index) => at > after(index).at),
    [],
    'a time never goes back',
  )
  const time = (id: string) => id.slice(0, 'made_'.length + 10)
  t.strictSame(
    rows.filter(({ id }, index) => index < 199 && time(id) > time(after(index).id)),
    [],
    'nor does the time in an id',
  )
  const [{ at } = { at: 0 }] = rows
  t.ok(Math.abs(at - Date.now()) < 60_000, 'it is the time of the server')
})
