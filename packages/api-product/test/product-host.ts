import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import plugin from '../src/index.ts'

/** Registers a test for each engine. */
export const testOnEngines = onEngines<Test>(test)

/** A host that serves this module, from its sources. */
export function productHost(t: Test, options: Omit<TestHostOptions, 'modules'> = {}) {
  const directory = fileURLToPath(new URL('..', import.meta.url))
  return createTestHost(t, { ...options, modules: [{ directory, plugin }] })
}

export const euros = (amount: number) => ({ amount, currency: 'EUR' })

/** Creates products; each needs an id at least. */
export async function create(
  manager: TestCaller,
  ...products: readonly ({ readonly id: string } & Readonly<Record<string, unknown>>)[]
): Promise<void> {
  for (const product of products) {
    const created = await manager.post('/product', { name: product.id, price: euros(100), ...product })
    if (created.statusCode !== 201) throw new Error(created.body)
  }
}
