import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const folderOf = (name) => dirname(fileURLToPath(import.meta.resolve(`@mortise/${name}/package.json`)))
const others = ['api-cart', 'api-product', 'api-purchase'].map((name) => ({ directory: folderOf(name) }))
const euros = (amount) => ({ amount, currency: 'EUR' })

onEngines(test)('three of a kind are a tenth cheaper, in the cart and when they are bought', async (t) => {
  const host = await createTestHost(t, { modules: [...others, { directory: dirname(import.meta.dirname) }] })
  const manager = host.user('root', 'product:manage')
  await manager.post('/product', { id: 'tea', name: 'Tea', price: euros(333) })
  await manager.post('/product', { id: 'cup', name: 'Cup', price: euros(500) })
  const ann = host.user('ann')
  const items = [
    { product: 'tea', quantity: 3 },
    { product: 'cup', quantity: 2 },
  ]
  const cart = (await ann.request('PUT', '/cart', { items })).json()
  const label = '10 % off from three of a kind'
  const amount = euros(-99)
  assert.deepEqual(cart.adjustments, [
    { kind: 'discount', id: 'three-of-a-kind', label, amount, product: 'tea' },
  ])
  assert.deepEqual(cart.total, euros(999 + 1000 - 99))
  const bought = (await ann.post('/purchase', { items, expectedTotal: cart.total })).json()
  assert.deepEqual([bought.total, bought.adjustments], [cart.total, cart.adjustments])
})
