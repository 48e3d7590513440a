import { run, sql } from '@mortise/module-sdk'
import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { GUARDS } from '../../src/postgres/session-settings.ts'
import { temporarySchema } from '../engines.ts'
import { ownRole } from './own-role.ts'

const skip = process.env.APP_TEST_DATABASE_URL === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL'

/** Defaults of a role that would change results, or lose what was acknowledged. */
const HOSTILE = {
  search_path: 'public',
  synchronous_commit: 'off',
  default_transaction_isolation: 'repeatable read',
  default_transaction_deferrable: 'on',
  client_encoding: 'LATIN1',
  standard_conforming_strings: 'off',
  TimeZone: 'Asia/Kathmandu',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  quote_all_identifiers: 'on',
  transform_null_equals: 'on',
  statement_timeout: '1min',
  lock_timeout: '1min',
  idle_in_transaction_session_timeout: '1min',
  idle_session_timeout: '1min',
}

t.test('whatever the defaults of a role are, sessions have what the host rests on', { skip }, async (t) => {
  const { url, schema } = await ownRole(t, await temporarySchema(t), HOSTILE)
  const storage = await openStorage({ url: `${url}&application_name=k%C3%A4se%20'a`, onFatal: t.fail })
  t.teardown(() => storage.close())
  const names = [...Object.keys(GUARDS), 'search_path', 'application_name']
  const shown = Object.fromEntries(
    (
      await storage.many<{ name: string; value: string }>(
        sql`SELECT name, current_setting(name) AS value FROM pg_settings`,
      )
    )
      .filter(({ name }) => names.includes(name))
      .map(({ name, value }) => [name, value]),
  )
  const wanted = {
    ...GUARDS,
    search_path: schema,
    application_name: `mortise ${schema} k?se 'a`,
    statement_timeout: '5s',
    lock_timeout: '3s',
    idle_in_transaction_session_timeout: '10s',
  }
  t.strictSame(shown, Object.fromEntries(Object.entries(wanted).filter(([name]) => name in shown)))
  t.ok(Object.keys(shown).length >= Object.keys(wanted).length - 1, 'but for those of newer servers')
  await storage.transaction(() => run(sql`CREATE TABLE exact (share DOUBLE PRECISION)`))
  await storage.transaction(() => run(sql`INSERT INTO exact VALUES (0.1::float8 + 0.2::float8)`))
  t.strictSame(await storage.many(sql`SELECT share FROM exact`), [{ share: 0.1 + 0.2 }])
})

t.test('a server that checks no foreign keys is refused', { skip }, async (t) => {
  const { url } = await ownRole(t, await temporarySchema(t), { session_replication_role: 'replica' })
  await t.rejects(openStorage({ url, onFatal: t.fail }), {
    name: 'StorageUnfitError',
    message: /session_replication_role is "replica" instead of "origin": set it for this role: ALTER ROLE/,
  })
})
