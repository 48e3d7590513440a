import { fileURLToPath } from 'node:url'
import { createTestHost, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import type { Test } from 'tap'
import plugin from '../src/index.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** A host with this module, from its sources, the cart, the catalogue and `others`. */
export const shop = (
  t: Test,
  options: Omit<TestHostOptions, 'modules'> = {},
  others: TestHostOptions['modules'] = [],
) =>
  createTestHost(t, {
    ...options,
    modules: [
      { directory: folder('..'), plugin },
      { directory: folder('../../api-cart') },
      { directory: folder('../../api-product') },
      ...others,
    ],
  })

export const euros = (amount: number) => ({ amount, currency: 'EUR' })

/** Creates products, by their ids, with what they differ in. */
export async function sell(manager: TestCaller, products: Readonly<Record<string, object>>): Promise<void> {
  for (const [id, product] of Object.entries(products)) {
    const created = await manager.post('/product', { id, name: id, price: euros(100), ...product })
    if (created.statusCode !== 201) throw new Error(created.body)
  }
}

export const stockOf = async (caller: TestCaller, product: string): Promise<number | null> =>
  (await caller.get(`/product/${product}`)).json().stock

/** Purchases `lines`, by product. */
export const buy = (caller: TestCaller, lines: Readonly<Record<string, number>>, more: object = {}) =>
  caller.post('/purchase', {
    items: Object.entries(lines).map(([product, quantity]) => ({ product, quantity })),
    ...more,
  })
