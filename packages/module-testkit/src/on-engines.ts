import { type Engine, engineNames, engines } from '@mortise/storage'

export type TestEngine = Engine

/** Registers a test: `test` of `node:test`, tap or a similar runner. */
export type Register<Test> = (name: string, work: (t: Test) => Promise<void>) => unknown

/** The URL of a PostgreSQL server. Without it, tests run only on SQLite. */
const server = process.env.APP_TEST_DATABASE_URL

/** The database of each test's hosts. */
const databases = new WeakMap<object, string | undefined>()

/** The PostgreSQL URL for the hosts of this test; undefined for a SQLite file. */
export const databaseOf = (t: object) => databases.get(t)

/**
 * `const testOnEngines = onEngines(test)` registers each test once per engine: SQLite, and
 * PostgreSQL if APP_TEST_DATABASE_URL names a server. Each host that `createTestHost(t)` makes in
 * the test has its own database on that engine. In TypeScript name the type of `t`:
 * `onEngines<TestContext>(test)`.
 */
export function onEngines<Test extends object>(test: Register<Test>) {
  return (name: string, work: (t: Test, engine: TestEngine) => Promise<void>): void => {
    const on = (engine: TestEngine, database?: string) =>
      test(`${name} (${engine})`, (t) => {
        databases.set(t, database)
        return work(t, engine)
      })
    for (const engine of engineNames) {
      if (!engines[engine].isShared) on(engine)
      else if (server) on(engine, server)
    }
  }
}
