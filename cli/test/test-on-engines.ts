import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { skip, temporarySchema, useDatabase } from './postgres-schema.ts'
import { testApplication } from './run-app.ts'

/** To be given to tests that use it. */
export { skip as skipPostgres }

/** Puts an application on a schema of its own, which is dropped when the test ends. */
export async function usePostgres(t: Test, directory: string): Promise<void> {
  await useDatabase(directory, (await temporarySchema(t)).url)
}

/** What `usePostgres` has put it on. */
export async function databaseUrl(directory: string): Promise<string> {
  return JSON.parse(await readFile(join(directory, 'app.config.json'), 'utf8')).database
}

type TestApplication = Awaited<ReturnType<typeof testApplication>>

/** One test of an application on SQLite, and of one on PostgreSQL. */
export function testOnEngines(
  name: string,
  work: (t: Test, application: TestApplication) => Promise<void>,
): void {
  t.test(`${name} (sqlite)`, async (t) => work(t, await testApplication(t)))
  t.test(`${name} (postgres)`, { skip }, async (t) => {
    const application = await testApplication(t)
    await usePostgres(t, application.directory)
    await work(t, application)
  })
}
