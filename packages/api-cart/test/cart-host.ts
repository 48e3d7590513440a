import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines, type TestHostOptions } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import plugin from '../src/index.ts'

/** Registers a test for each engine. */
export const testOnEngines = onEngines<Test>(test)

/** A host that serves this module, from its sources. */
export function cartHost(t: Test, options: Omit<TestHostOptions, 'modules'> = {}) {
  const directory = fileURLToPath(new URL('..', import.meta.url))
  return createTestHost(t, { ...options, modules: [{ directory, plugin }] })
}
