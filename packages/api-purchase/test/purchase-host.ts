import { fileURLToPath } from 'node:url'
import { createTestHost, type OwningTest, type TestHostOptions } from '@mortise/module-testkit'
import plugin from '../src/module.ts'

/** A host that serves this module, from its sources. */
export function purchaseHost(t: OwningTest, options: Omit<TestHostOptions, 'modules'> = {}) {
  const directory = fileURLToPath(new URL('..', import.meta.url))
  return createTestHost(t, { ...options, modules: [{ directory, plugin }] })
}
