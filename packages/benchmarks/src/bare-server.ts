import { serveParent } from '@mortise/verification'
import { createBareApp } from './bare/create-bare-app.ts'
import { openPostgresStore, type PostgresOptions } from './bare/postgres-store.ts'
import { openSqliteStore, type SqliteOptions } from './bare/sqlite-store.ts'

// A separate process: the server to compare the host with.
serveParent(async (options: (SqliteOptions | PostgresOptions) & { secret: string }) => {
  const store = 'url' in options ? await openPostgresStore(options) : openSqliteStore(options)
  const app = createBareApp(store, options.secret)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
})
