import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

/** A new schema on a PostgreSQL server, for one test. A connection with `url` creates it. */
export function temporarySchema(server: string): { url: string; drop(): Promise<void> } {
  const schema = `test_${randomBytes(8).toString('hex')}`
  const url = new URL(server)
  url.searchParams.set('schema', schema)
  return {
    url: url.href,
    async drop() {
      const client = new Client({ connectionString: server })
      await client.connect()
      try {
        await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      } finally {
        await client.end()
      }
    },
  }
}
