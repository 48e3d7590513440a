import { BrokenStorageError, Checkpoints, Connection } from '@mortise/storage'
import t, { type Test } from 'tap'
import { Application } from '../src/application.ts'
import { applicationFolder } from './application-folder.ts'

async function running(t: Test) {
  const directory = await applicationFolder(t)
  const host = await Application.start({ directory, environment: { APP_RATE_LIMIT_MAX: '0' } })
  t.teardown(() => host.close().catch(() => {}))
  const closed = host.closed.then(
    () => undefined,
    (error) => error,
  )
  return { directory, host, closed }
}

t.test('a COMMIT that fails is an unknown outcome for all that shared it, and ends the host', async (t) => {
  const { host, closed } = await running(t)
  const failure = new BrokenStorageError('the disk is gone', {}, 'unknown-outcome')
  t.intercept(Connection.prototype, 'commit', {
    value: () => {
      throw failure
    },
  })
  const answers = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await fetch(`${host.url}/guest`, { method: 'POST' }).catch(() => undefined)
      if (response === undefined) return 'no connection'
      return `${response.status} ${((await response.json()) as { code: string }).code}`
    }),
  )
  t.ok(answers.includes('500 outcome-unknown'), 'those that shared it')
  t.strictSame(
    answers.filter(
      (answer) => !['500 outcome-unknown', '503 database-unavailable', 'no connection'].includes(answer),
    ),
    [],
    'those behind it were not tried',
  )
  t.equal(await closed, failure)
})

t.test('a host whose stop meets a failing disk comes to an end, and says where the data are', async (t) => {
  const { host, closed } = await running(t)
  await fetch(`${host.url}/guest`, { method: 'POST' })
  t.intercept(Checkpoints.prototype, 'end', {
    value: () => {
      throw new Error('the disk is gone')
    },
  })
  await host.stop('SIGTERM', 0)
  t.equal(await closed, undefined)
})

t.test('what fails while a host stops ends it with that', async (t) => {
  const { host, closed } = await running(t)
  const { close } = host.installed
  const failure = new Error('a module does not close')
  t.intercept(host.installed, 'close', {
    value: async () => {
      await close.call(host.installed)
      throw failure
    },
  })
  await t.rejects(host.stop('SIGTERM', 0), failure)
  t.equal(await closed, failure)
})

t.test('while the log cannot be written back, a host is ready until that is large', async (t) => {
  const { host } = await running(t)
  const state = { failure: undefined as Error | undefined, bytes: 65 * 1024 * 1024 }
  for (const name of ['failure', 'bytes'] as const)
    t.intercept(Checkpoints.prototype, name, { get: () => state[name] })
  const ready = async () => {
    const response = await fetch(`${host.url}/health/ready`)
    return [response.status, ((await response.json()) as { detail?: string }).detail]
  }
  t.strictSame(await ready(), [200, undefined], 'another process may read it for long')
  state.failure = new Error('the disk is gone')
  t.match(await ready(), [503, /write-ahead log cannot be written back/])
  t.match(await (await fetch(`${host.url}/metrics`)).text(), /^mortise_wal_bytes 68157440$/m)
  state.bytes = 63 * 1024 * 1024
  t.strictSame(await ready(), [200, undefined])
})
