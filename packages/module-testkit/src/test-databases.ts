/** Where a host can be tried: `database` is that of `createTestHost`. */
export interface TestDatabase {
  readonly engine: 'sqlite' | 'postgres'
  readonly database: string | undefined
}

const server = process.env.APP_TEST_DATABASE_URL

/** SQLite, and PostgreSQL where APP_TEST_DATABASE_URL names a server: a module's tests pass on both. */
export const testDatabases: readonly TestDatabase[] = [
  { engine: 'sqlite', database: undefined },
  ...(server ? [{ engine: 'postgres' as const, database: server }] : []),
]
