import { randomBytes } from 'node:crypto'
import { openStorage } from '@mortise/host'
import { identifier, run, sql } from '@mortise/module-sdk'

/** A new schema on a PostgreSQL server. A connection with `url` creates it. */
export function ownSchema(server: string): { url: string; drop(): Promise<void> } {
  const schema = `run_${randomBytes(8).toString('hex')}`
  const url = new URL(server)
  url.searchParams.set('schema', schema)
  return {
    url: url.href,
    async drop() {
      const storage = await openStorage({ url: url.href, onFatal: () => {} })
      await storage.transaction(() => run(sql`DROP SCHEMA IF EXISTS ${identifier(schema)} CASCADE`))
      await storage.close()
    },
  }
}
