export type TestEngine = 'sqlite' | 'postgres'

/** Registers a test: `test` of `node:test`, tap or anything alike. */
export type Register<Test> = (name: string, work: (t: Test) => Promise<void>) => unknown

/** The URL of a PostgreSQL server; without it, tests run on SQLite alone. */
const server = process.env.APP_TEST_DATABASE_URL

/** On what the hosts of a test run. */
const databases = new WeakMap<object, string | undefined>()

/** The PostgreSQL that the hosts of this test are on; undefined for a SQLite file. */
export const databaseOf = (t: object) => databases.get(t)

/**
 * `const testOnEngines = onEngines(test)` registers each test once for every engine there is: SQLite, and PostgreSQL
 * where APP_TEST_DATABASE_URL names a server. The hosts that `createTestHost(t)` makes in it are on that engine, each
 * with a database of its own. In TypeScript say what `t` is: `onEngines<TestContext>(test)`.
 */
export function onEngines<Test extends object>(test: Register<Test>) {
  return (name: string, work: (t: Test, engine: TestEngine) => Promise<void>): void => {
    const on = (engine: TestEngine, database?: string) =>
      test(`${name} (${engine})`, (t) => {
        databases.set(t, database)
        return work(t, engine)
      })
    on('sqlite')
    if (server) on('postgres', server)
  }
}
