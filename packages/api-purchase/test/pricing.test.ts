import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Adjustment } from '@mortise/api-product/contract'
import { defineModule } from '@mortise/module-sdk'
import { testOnEngines } from './purchase-host.ts'
import { buy, euros, sell, shop, stockOf } from './shop.ts'

const fee = { kind: 'fee', id: 'shipping', label: 'Shipping', amount: euros(490) } as const
const discount = {
  kind: 'discount',
  id: 'welcome',
  label: 'Welcome',
  amount: euros(-100),
  product: 'tea',
} as const

/** A module that adds `adjustments`, which a test changes. */
async function rules(directory: string) {
  const rules = { adjustments: [fee, discount] as Adjustment[], lines: [] as unknown, closed: false }
  const { plugin: define, problem } = defineModule('rules', {
    problems: { closed: { status: 409, title: 'Closed', detail: 'Come back tomorrow.' } },
  })
  const plugin = define(async (_app, { contracts }) => {
    contracts.provide('pricing', '1.0.0', {
      // biome-ignore lint/correctness/useYield: it needs no table
      *adjust(_caller, lines) {
        rules.lines = lines
        if (rules.closed) throw problem('closed')
        return rules.adjustments
      },
    })
  })
  const mortise = { id: 'rules', host: '*', routes: [], provides: { pricing: '1.0.0' } }
  const json = { name: 'rules', version: '1.0.0', type: 'module', exports: './index.js', mortise }
  await writeFile(join(directory, 'package.json'), JSON.stringify(json))
  await writeFile(join(directory, 'index.js'), '')
  return { rules, modules: [{ directory, plugin }] }
}

testOnEngines('a purchase keeps the adjustments that its cart has shown', async (t) => {
  const { rules: shown, modules } = await rules(t.testdir({}))
  const host = await shop(t, {}, modules)
  await sell(host.user('root', 'product:manage'), { tea: { stock: 9 }, cup: { price: euros(1200) } })
  const ann = host.user('ann')
  t.notOk('adjustments' in (await ann.get('/cart')).json(), 'an empty cart has no total')
  const prefer = { prefer: 'return=representation' }
  await ann.post('/cart/item', { product: 'tea', quantity: 2 })
  const cart = (await ann.post('/cart/item', { product: 'cup', quantity: 1 }, prefer)).json()
  t.match(cart, { adjustments: [fee, discount], total: euros(1400 + 490 - 100) })
  t.strictSame((await ann.get('/cart')).json(), cart)
  t.strictSame(shown.lines, [
    { product: 'tea', quantity: 2, unitPrice: euros(100), lineTotal: euros(200) },
    { product: 'cup', quantity: 1, unitPrice: euros(1200), lineTotal: euros(1200) },
  ])
  const trial = await buy(ann, { tea: 2, cup: 1 }, { dryRun: true })
  t.match(trial.json(), { adjustments: [fee, discount], total: cart.total })
  const bought = await buy(ann, { tea: 2, cup: 1 }, { takeFromCart: true, expectedTotal: cart.total })
  t.equal(bought.statusCode, 201)
  const purchase = bought.json()
  t.strictSame([purchase.adjustments, purchase.total], [cart.adjustments, cart.total])
  shown.adjustments = [fee]
  const path = `/purchase/${purchase.id}`
  t.strictSame((await ann.get(path)).json(), purchase)
  t.strictSame((await ann.get('/purchase?expand=items')).json().data, [purchase])
  t.notOk('adjustments' in (await ann.get('/purchase')).json().data[0], 'a summary has none')
  const seen = (await host.user('clerk', 'purchase:read').get(path)).json()
  t.strictSame(seen, { ...purchase, owner: seen.owner })
  const created = (await host.events()).find(({ type }) => type === 'purchase.created')
  t.equal(JSON.stringify(created?.data), bought.body, 'byte for byte')
  const changed = await buy(ann, { tea: 2, cup: 1 }, { expectedTotal: cart.total })
  t.match(changed.json(), { status: 409, code: 'total-changed', total: euros(1400 + 490) })
  await sell(host.user('root', 'product:manage'), { yen: { price: { amount: 9, currency: 'JPY' } } })
  for (const product of ['cup', 'yen']) await ann.post('/cart/item', { product, quantity: 1 })
  const mixed = (await ann.get('/cart')).json()
  t.equal(mixed.total, null)
  t.notOk('adjustments' in mixed, 'nothing can be added to no total')
  shown.adjustments = []
  t.match((await buy(ann, { tea: 1 })).json(), { adjustments: [], total: euros(100) })
})

testOnEngines('adjustments that make no exact total, or one below zero, sell nothing', async (t) => {
  const { rules: shown, modules } = await rules(t.testdir({}))
  const host = await shop(t, { rehearse: false }, modules)
  await sell(host.user('root', 'product:manage'), { tea: { stock: 9 } })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  shown.adjustments = [{ ...fee, amount: euros(Number.MAX_SAFE_INTEGER) }]
  t.match((await buy(ann, { tea: 1 })).json(), { status: 422, code: 'total-too-large' })
  t.equal((await ann.get('/cart')).json().total, null)
  shown.adjustments = [{ ...discount, amount: euros(-101) }]
  t.equal((await buy(ann, { tea: 1 })).statusCode, 500)
  t.equal(await stockOf(ann, 'tea'), 9)
  shown.adjustments = [{ ...discount, amount: euros(-100) }]
  t.match((await buy(ann, { tea: 1 })).json(), { total: euros(0) })
})

testOnEngines('without the contract nothing has adjustments', async (t) => {
  const host = await shop(t)
  await sell(host.user('root', 'product:manage'), { tea: {} })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  t.match((await ann.get('/cart')).json(), { total: euros(100) })
  t.notOk('adjustments' in (await ann.get('/cart')).json())
  t.notOk('adjustments' in (await buy(ann, { tea: 1 })).json())
})

testOnEngines('a problem of another module is no response of the cart or of the purchase', async (t) => {
  const { rules: shown, modules } = await rules(t.testdir({}))
  const host = await shop(t, { rehearse: false }, modules)
  await sell(host.user('root', 'product:manage'), { tea: { stock: 9 } })
  const ann = host.user('ann')
  await ann.post('/cart/item', { product: 'tea', quantity: 1 })
  shown.closed = true
  for (const response of [await ann.get('/cart'), await buy(ann, { tea: 1 })])
    t.match(response.json(), {
      status: 500,
      code: 'internal-error',
      type: 'urn:problem-type:host:internal-error',
    })
  t.equal(await stockOf(ann, 'tea'), 9)
  shown.closed = false
  t.equal((await buy(ann, { tea: 1 })).statusCode, 201)
})
