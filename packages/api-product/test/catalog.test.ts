import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { byEngine, defineModule, many, run, type Statement, sql } from '@mortise/module-sdk'
import { createTestHost } from '@mortise/module-testkit'
import { giveBackStock, resolveProducts, takeStock } from '../src/catalog.ts'
import type { CatalogProduct } from '../src/contract.ts'
import product from '../src/index.ts'
import { changeStock } from '../src/repository.ts'
import { create, euros, productHost, testOnEngines } from './product-host.ts'

const shelf = [
  { id: 'tea', stock: 5, images: [{ url: 'https://images.example/tea.jpg', alt: 'Tea' }] },
  { id: 'cup', stock: 2, price: euros(900), otherPrices: [{ amount: 7, currency: 'USD' }] },
  { id: 'jam', active: false },
]

const byId = (products: readonly CatalogProduct[]) =>
  products.toSorted((one, other) => (one.product < other.product ? -1 : 1))

testOnEngines('products are found together, and unknown ones left out', async (t) => {
  const { database, user } = await productHost(t)
  const manager = user('root', 'product:manage')
  await create(manager, ...shelf)
  const identityOf = async (id: string) => (await manager.get(`/product/${id}`)).json().identity
  const found = await database.snapshot(() => resolveProducts(['tea', 'nothing', 'jam', "'"]))
  t.strictSame(byId(found), [
    {
      product: 'jam',
      identity: await identityOf('jam'),
      name: 'jam',
      image: null,
      price: euros(100),
      active: false,
      stock: null,
    },
    {
      product: 'tea',
      identity: await identityOf('tea'),
      name: 'tea',
      image: shelf[0]?.images?.[0],
      price: euros(100),
      active: true,
      stock: 5,
    },
  ])
  t.strictSame(await database.snapshot(() => resolveProducts([])), [])
})

testOnEngines('prices are in the preferred currency, if all products have it', async (t) => {
  const { database, user } = await productHost(t)
  await create(
    user('root', 'product:manage'),
    {
      id: 'tea',
      otherPrices: [
        { amount: 2, currency: 'USD' },
        { amount: 3, currency: 'JPY' },
      ],
    },
    { id: 'cup', price: { amount: 4, currency: 'JPY' }, otherPrices: [{ amount: 5, currency: 'USD' }] },
    { id: 'pot', price: { amount: 6, currency: 'JPY' } },
  )
  const pricesOf = async (currency: string | undefined, ...products: string[]) => {
    const found = await database.snapshot(() => resolveProducts(products, currency))
    const lines = products.map((product) => ({ product, quantity: 1 }))
    const taken = await database.transaction(() => takeStock(lines, [], currency))
    t.strictSame(byId(taken.products), byId(found))
    return new Set(found.map(({ price }) => price.currency))
  }
  t.strictSame(await pricesOf('USD', 'tea', 'cup'), new Set(['USD']))
  t.strictSame(await pricesOf('JPY', 'tea', 'cup'), new Set(['JPY']))
  t.strictSame(await pricesOf('USD', 'tea', 'cup', 'pot'), new Set(['JPY']))
  t.strictSame(await pricesOf('USD', 'tea'), new Set(['USD']))
  t.strictSame(await pricesOf('', 'tea'), new Set(['EUR']))
})

testOnEngines('the currency of carts and purchases is a setting', async (t) => {
  const config = { modules: { 'api-product': { currency: 'USD' } } }
  const modules = ['api-cart', 'api-purchase'].map((name) => ({
    directory: fileURLToPath(new URL(`../../${name}`, import.meta.url)),
  }))
  const own = { directory: fileURLToPath(new URL('..', import.meta.url)), plugin: product }
  const host = await createTestHost(t, { config, modules: [own, ...modules] })
  await create(host.user('root', 'product:manage'), {
    id: 'tea',
    otherPrices: [{ amount: 2, currency: 'USD' }],
  })
  const ann = host.user('ann')
  const items = [{ product: 'tea', quantity: 3 }]
  await ann.post('/cart/item', items[0])
  const total = { amount: 6, currency: 'USD' }
  t.match((await ann.get('/cart')).json(), { total })
  t.match((await ann.post('/purchase', { items, expectedTotal: total })).json(), { total })
  const wrong = { modules: { 'api-product': { currency: 'dollars' } } }
  await t.rejects(productHost(t, { config: wrong }), /currency/)
})

testOnEngines('stock is taken for the sum of the lines, all or none', async (t) => {
  const host = await productHost(t)
  const { database } = host
  const manager = host.user('root', 'product:manage')
  await create(manager, ...shelf)
  const take = (...lines: [string, number][]) =>
    database.transaction(() => takeStock(lines.map(([product, quantity]) => ({ product, quantity }))))
  const left = async () =>
    (
      await database.many<{ stock: number }>(
        sql`SELECT stock FROM product WHERE stock IS NOT NULL ORDER BY id`,
      )
    ).map(({ stock }) => stock)
  t.strictSame((await take(['tea', 3], ['cup', 1], ['tea', 3])).short, [{ product: 'tea', stock: 5 }])
  t.strictSame(await left(), [2, 5])
  const { version } = (await manager.get('/product/tea')).json()
  const taken = await take(['tea', 3], ['jam', 9999], ['nothing', 1], ['cup', 1], ['tea', 2])
  t.strictSame(taken.short, [])
  t.strictSame(taken.products.map(({ product, stock }) => [product, stock]).toSorted(), [
    ['cup', 2],
    ['jam', null],
    ['tea', 5],
  ])
  t.strictSame(await left(), [1, 0])
  t.equal((await manager.get('/product/tea')).json().version, version + 1)
  t.strictSame((await take(['cup', 2], ['tea', 1])).short, [
    { product: 'cup', stock: 1 },
    { product: 'tea', stock: 0 },
  ])
  const back = [
    { product: 'tea', quantity: 3 },
    { product: 'jam', quantity: 1 },
    { product: 'tea', quantity: 2 },
  ]
  await database.transaction(() => giveBackStock(back))
  t.strictSame(await left(), [1, 5])
  t.equal((await manager.get('/product/jam')).json().stock, null)
})

testOnEngines('a manager does not replace stock that was sold meanwhile', async (t) => {
  const host = await productHost(t)
  const manager = host.user('root', 'product:manage')
  await create(manager, ...shelf)
  const { etag } = (await manager.get('/product/tea')).headers as { etag: string }
  await host.database.transaction(() => takeStock([{ product: 'tea', quantity: 1 }]))
  t.equal((await manager.patch('/product/tea', { stock: 6 }, { 'if-match': etag })).statusCode, 412)
  t.equal((await manager.get('/product/tea')).json().stock, 4)
})

testOnEngines('an id may have any characters', async (t) => {
  const { database, user } = await productHost(t)
  const ids = ['{}', '"', '\\', "a'b", '["x"]', '__proto__', '1', 'NULL', ',', '\u2028é\u{1F600}', '\u00e9']
  await create(user('root', 'product:manage'), ...ids.map((id) => ({ id, stock: 3 })))
  const lines = ids.map((product) => ({ product, quantity: 2 }))
  const { products } = await database.transaction(() => takeStock(lines))
  t.strictSame(new Set(products.map(({ product }) => product)), new Set(ids))
  const stocks = () => database.many<{ stock: number }>(sql`SELECT DISTINCT stock FROM product`)
  t.strictSame(await stocks(), [{ stock: 1 }])
  await database.transaction(() => giveBackStock(lines))
  t.strictSame(await stocks(), [{ stock: 3 }])
})

testOnEngines('a sale reads no other products, so that sales side by side do not conflict', async (t) => {
  const { database, user } = await productHost(t, { rehearse: false })
  const ids = Array.from({ length: 200 }, (_, index) => `p-${index}`)
  await create(user('root', 'product:manage'), ...ids.map((id) => ({ id, stock: 3 })))
  const { value } = changeStock(new Map([['p-7', -1]]), 0).next()
  const explained = sql`${byEngine({ sqlite: sql`EXPLAIN QUERY PLAN`, postgres: sql`EXPLAIN` })} ${(value as Statement).query}`
  const plan = JSON.stringify(await database.transaction(() => many(explained)))
  t.match(
    plan,
    /product_pkey.*Index Cond: \(id = ANY|SEARCH product USING INDEX sqlite_autoindex_product_1 \(id=\?\)/,
  )
  t.notMatch(plan, /SCAN product/)
})

testOnEngines('no statement leaves less than nothing', async (t) => {
  const { database, user } = await productHost(t)
  await create(user('root', 'product:manage'), ...shelf)
  const sold = database.transaction(() => run(sql`UPDATE product SET stock = -1 WHERE id = 'tea'`))
  t.equal(await sold.catch(({ kind }) => kind), 'check')
})

/** Has every product, for its length in dollars, and sells one of each at a time. */
const lengths = defineModule('lengths').plugin(async (_app, { contracts }) => {
  const productOf = (product: string) => ({
    product,
    identity: product,
    name: product.toUpperCase(),
    image: null,
    price: { amount: product.length, currency: 'USD' },
    active: true,
    stock: 1,
  })
  contracts.provide('catalog', '1.0.0', {
    // biome-ignore lint/correctness/useYield: it needs no table
    *resolve(products) {
      return products.map(productOf)
    },
    *take(lines) {
      const short = lines.filter(({ quantity }) => quantity > 1).map(({ product }) => ({ product, stock: 1 }))
      return { products: lines.map(({ product }) => productOf(product)), short }
    },
    *giveBack() {},
  })
})

testOnEngines('another module can be the catalogue of carts and purchases', async (t) => {
  const directory = t.testdir({})
  const mortise = { id: 'lengths', host: '*', routes: [], provides: { catalog: '1.0.0' } }
  const json = { name: 'lengths', version: '1.0.0', type: 'module', exports: './index.js', mortise }
  await writeFile(join(directory, 'package.json'), JSON.stringify(json))
  await writeFile(join(directory, 'index.js'), '')
  const others = ['api-cart', 'api-purchase'].map((name) => ({
    directory: fileURLToPath(new URL(`../../${name}`, import.meta.url)),
  }))
  const host = await createTestHost(t, { modules: [...others, { directory, plugin: lengths }] })
  const ann = host.user('ann')
  const added = await ann.post('/cart/item', { product: 'tea', quantity: 2 })
  t.match(added.json(), {
    name: 'TEA',
    lineTotal: { amount: 6, currency: 'USD' },
    warnings: [{ code: 'out-of-stock' }],
  })
  t.match((await ann.get('/cart')).json(), { total: { amount: 6, currency: 'USD' } })
  const items = [
    { product: 'tea', quantity: 1 },
    { product: 'milk', quantity: 1 },
  ]
  const bought = (await ann.post('/purchase', { items })).json()
  t.match(bought, { total: { amount: 7, currency: 'USD' }, items: [{ name: 'TEA' }, { name: 'MILK' }] })
  t.equal((await ann.patch(`/purchase/${bought.id}`, { status: 'cancelled' })).statusCode, 200)
})
