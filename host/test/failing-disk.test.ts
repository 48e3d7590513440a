import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import SqliteDatabase from 'better-sqlite3'
import t, { type Test } from 'tap'
import { applicationFolder } from '../../packages/application/test/application-folder.ts'
import { Application } from '../src/application.ts'

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

/** What the driver throws where the disk fails. */
const gone = () => {
  throw new SqliteDatabase.SqliteError('the disk is gone', 'SQLITE_IOERR_FSYNC')
}

/** Has statements fail that match, on whichever connection, while `isFailing`. */
function failStatements(t: Test, source: RegExp, isFailing = () => true): void {
  const memory = new SqliteDatabase(':memory:')
  const statement = Object.getPrototypeOf(memory.prepare('SELECT 1')) as SqliteDatabase.Statement
  memory.close()
  for (const name of ['run', 'get'] as const) {
    const original = statement[name] as (...values: unknown[]) => unknown
    t.intercept(statement, name, {
      value(this: SqliteDatabase.Statement, ...values: unknown[]) {
        return isFailing() && source.test(this.source) ? gone() : original.apply(this, values)
      },
    })
  }
}

t.test('a failed COMMIT is an unknown outcome for its whole group, and ends the host', async (t) => {
  const { host, closed } = await running(t)
  failStatements(t, /^COMMIT$/)
  const responses = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const response = await fetch(`${host.url}/guest`, { method: 'POST' }).catch(() => undefined)
      if (response === undefined) return 'no connection'
      return `${response.status} ${((await response.json()) as { code: string }).code}`
    }),
  )
  t.ok(responses.includes('500 outcome-unknown'), 'those that shared it')
  t.strictSame(
    responses.filter(
      (response) =>
        !['500 outcome-unknown', '503 database-unavailable', '503 busy', 'no connection'].includes(response),
    ),
    [],
    'those behind it were not tried',
  )
  t.match(await closed, { kind: 'unknown-outcome', message: /the disk is gone/ })
})

t.test('a host stops in spite of a failing disk, and says where the data are', async (t) => {
  const { host, closed } = await running(t)
  await fetch(`${host.url}/guest`, { method: 'POST' })
  const { pragma } = SqliteDatabase.prototype
  t.intercept(SqliteDatabase.prototype, 'pragma', {
    value(this: SqliteDatabase.Database, source: string, ...options: [SqliteDatabase.PragmaOptions?]) {
      return source === 'wal_checkpoint(TRUNCATE)' ? gone() : pragma.call(this, source, ...options)
    },
  })
  await host.stop('SIGTERM', 0)
  t.equal(await closed, undefined)
})

t.test('a failure during the stop is the result of the stop', async (t) => {
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

t.test('a host with failing checkpoints is ready until the log is large', async (t) => {
  const { host, directory } = await running(t)
  const log = join(directory, 'data', 'app.db-wal')
  let isFailing = false
  failStatements(t, /wal_checkpoint/, () => isFailing)
  const ready = async () => {
    const response = await fetch(`${host.url}/health/ready`)
    return [response.status, ((await response.json()) as { detail?: string }).detail]
  }
  await truncate(log, 65 * 1024 * 1024)
  t.strictSame(await ready(), [200, undefined], 'another process may read it for long')
  isFailing = true
  // The log's size is looked at after every eighth commit.
  for (let commits = 0; commits < 8; commits += 1) await fetch(`${host.url}/guest`, { method: 'POST' })
  t.match(await ready(), [503, /checkpoints fail/])
  t.match(await (await fetch(`${host.url}/metrics`)).text(), /^mortise_wal_bytes 68157440$/m)
  await truncate(log, 63 * 1024 * 1024)
  t.strictSame(await ready(), [200, undefined])
})
