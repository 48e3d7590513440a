import { randomBytes } from 'node:crypto'
import type { Engine } from '@mortise/module-sdk'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { type OpenOptions, openStorage } from '../src/open-storage.ts'
import type { Storage } from '../src/port/storage.ts'
import { temporaryStorage } from './temporary-storage.ts'

const SERVER = process.env.APP_TEST_DATABASE_URL

/** A database of the test's own, with this schema, closed when the test ends. */
export type Open = (
  schema?: string,
  options?: Partial<OpenOptions> & { readonly file?: string },
) => Promise<Storage>

/** One test on SQLite and on PostgreSQL, which `npm test` starts. */
export function testOnEngines(
  name: string,
  work: (t: Test, open: Open, engine: Engine) => Promise<void>,
): void {
  t.test(`${name} (sqlite)`, (t) =>
    work(t, (schema = '', options) => temporaryStorage(t, schema, options), 'sqlite'),
  )
  testOnPostgres(`${name} (postgres)`, (t, open) => work(t, open, 'postgres'))
}

export function testOnPostgres(
  name: string,
  work: (t: Test, open: Open, url: string) => Promise<void>,
): void {
  const skip = SERVER === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'
  t.test(name, { skip }, async (t) => {
    const { url, execute } = await temporarySchema(t)
    await work(
      t,
      async (schema = '', options) => {
        const storage = await openStorage({ ...options, url, onFatal: t.fail })
        t.teardown(() => storage.close())
        if (schema !== '') await execute(schema)
        return storage
      },
      url,
    )
  })
}

/** A schema of the test's own on the server, by its URL; dropped when the test ends. */
export async function temporarySchema(t: Test) {
  const schema = `test_${randomBytes(8).toString('hex')}`
  const url = `${SERVER}?schema=${schema}`
  const execute = async (text: string, values?: unknown[]) => {
    const client = new Client({ connectionString: SERVER, options: `-c search_path=${schema}` })
    await client.connect()
    try {
      return await client.query(text, values)
    } finally {
      await client.end()
    }
  }
  t.teardown(() => execute(`DROP SCHEMA IF EXISTS ${schema} CASCADE`))
  return { url, schema, execute }
}
