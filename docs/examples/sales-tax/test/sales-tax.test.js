import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const folderOf = (name) => dirname(fileURLToPath(import.meta.resolve(`@mortise/${name}/package.json`)))
const others = ['api-cart', 'api-product', 'api-purchase'].map((name) => ({ directory: folderOf(name) }))
const euros = (amount) => ({ amount, currency: 'EUR' })

onEngines(test)('each rate has its tax, with half a cent rounded up', async (t) => {
  const settings = { standard: 2000, others: { book: 550, gift: 0 } }
  const modules = [...others, { directory: dirname(import.meta.dirname) }]
  const host = await createTestHost(t, { modules, config: { modules: { 'sales-tax': settings } } })
  const manager = host.user('root', 'product:manage')
  for (const [id, amount] of Object.entries({ tea: 333, cup: 999, book: 1000, gift: 500, dear: 9e11 })) {
    await manager.post('/product', { id, name: id, price: euros(amount) })
  }
  const ann = host.user('ann')
  const taxesOf = async (...products) => {
    const items = products.map((product) => ({ product, quantity: 1 }))
    const cart = (await ann.request('PUT', '/cart', { items })).json()
    const bought = (await ann.post('/purchase', { items, expectedTotal: cart.total })).json()
    assert.deepEqual(bought.adjustments, cart.adjustments)
    const net = items.length && cart.items.reduce((sum, { lineTotal }) => sum + lineTotal.amount, 0)
    const taxes = cart.adjustments.map(({ label, amount }) => [label, amount.amount])
    assert.deepEqual(bought.total, euros(taxes.reduce((sum, [, amount]) => sum + amount, net)))
    return taxes
  }
  // 66.6 cents, 199.8 and 266.4.
  assert.deepEqual(await taxesOf('tea'), [['20 % sales tax', 67]])
  assert.deepEqual(await taxesOf('cup'), [['20 % sales tax', 200]])
  assert.deepEqual(await taxesOf('tea', 'cup'), [['20 % sales tax', 266]])
  assert.deepEqual(await taxesOf('gift', 'tea', 'book'), [
    ['0 % sales tax', 0],
    ['5.5 % sales tax', 55],
    ['20 % sales tax', 67],
  ])
  assert.deepEqual(await taxesOf('dear'), [['20 % sales tax', 180_000_000_000]])
})
