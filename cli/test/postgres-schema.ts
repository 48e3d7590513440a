import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Test } from 'tap'

const server = process.env.APP_TEST_DATABASE_URL
export const skip = server === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

/** A schema of the test's own on the server, and those that are made beside it; gone when the test ends. */
export async function temporarySchema(t: Test) {
  const schema = `test_${randomBytes(8).toString('hex')}`
  const url = `${server}?schema=${schema}`
  const execute = async (text: string) => {
    const client = new Client({ connectionString: server, options: `-c search_path=${schema}` })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  t.teardown(async () => {
    const found = await execute(`SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE '${schema}%'`)
    for (const { name } of found) await execute(`DROP SCHEMA ${name} CASCADE`)
  })
  return { schema, url, execute }
}

/** Writes a database into the configuration of an application. */
export async function useDatabase(directory: string, database: string): Promise<void> {
  const file = join(directory, 'app.config.json')
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), database }, null, 2))
}
