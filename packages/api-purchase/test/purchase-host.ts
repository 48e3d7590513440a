import { fileURLToPath } from 'node:url'
import { createTestHost, type TestHostOptions, testDatabases } from '@mortise/module-testkit'
import tap, { type Test } from 'tap'
import plugin from '../src/module.ts'

/** On what a test runs. */
const databases = new WeakMap<Test, string | undefined>()

/** One test on every engine there is. */
export function testOnEngines(name: string, work: (t: Test) => Promise<void>): void {
  for (const { engine, database } of testDatabases) {
    tap.test(`${name} (${engine})`, async (t) => {
      databases.set(t, database)
      await work(t)
    })
  }
}

/** A host that serves this module, from its sources. */
export function purchaseHost(t: Test, options: Omit<TestHostOptions, 'modules'> = {}) {
  const directory = fileURLToPath(new URL('..', import.meta.url))
  const database = databases.get(t)
  return createTestHost(t, { database, ...options, modules: [{ directory, plugin }] })
}
