import { type Caller, DAY, deleteExpired, sql, type Transaction, timestamp } from '@mortise/module-sdk'
import type { Test } from 'tap'
import { addItem, changeItem, claimCart, emptyCart, removeItem, showCart, showItem } from '../src/service.ts'
import { cartHost, testOnEngines } from './cart-host.ts'

const START = Date.UTC(2026, 10, 21)

const user: Caller = { id: 'user:ann', kind: 'user', has: () => false }
const guest: Caller = { id: 'guest:1', kind: 'guest', has: () => false }

/** The service on a database of its own, for one caller. */
async function cartOf(t: Test, caller = user) {
  const { database } = await cartHost(t)
  const write = <Result>(steps: () => Transaction<Result>) => database.transaction(steps)
  return {
    database,
    show: (now: number) => showCart(database, caller, undefined, now),
    showItem: (id: string, now: number) => write(() => showItem(caller, id, undefined, now)),
    add: (product: string, quantity: number, now: number) =>
      write(() => addItem(caller, { product, quantity }, undefined, now)),
    change: (id: string, quantity: number, now: number) =>
      write(() => changeItem(caller, id, { quantity }, undefined, now)),
    remove: (id: string, now: number) => write(() => removeItem(caller, id, undefined, now)),
    empty: (now: number) => write(() => emptyCart(caller, undefined, now)),
  }
}

testOnEngines('there is no cart before its first item', async (t) => {
  const cart = await cartOf(t)
  t.same(await cart.show(START), {
    id: null,
    items: [],
    itemCount: 0,
    totalQuantity: 0,
    total: null,
    version: 0,
    createdAt: null,
    updatedAt: null,
    expiresAt: null,
  })
})

testOnEngines('the first item starts the cart', async (t) => {
  const cart = await cartOf(t)
  const { item, added } = await cart.add('tea', 2, START)
  t.ok(added)
  t.match(item.id, /^item_[0-7][0-9a-z]{25}$/)
  t.same(item, {
    id: item.id,
    product: 'tea',
    quantity: 2,
    note: null,
    name: null,
    unitPrice: null,
    lineTotal: null,
    version: 1,
    createdAt: timestamp(START),
    updatedAt: timestamp(START),
  })
  const shown = await cart.show(START)
  t.match(shown.id, /^cart_[0-7][0-9a-z]{25}$/)
  t.same(shown, {
    id: shown.id,
    items: [item],
    itemCount: 1,
    totalQuantity: 2,
    total: null,
    version: 1,
    createdAt: timestamp(START),
    updatedAt: timestamp(START),
    expiresAt: timestamp(START + 90 * DAY),
  })
  t.same(await cart.showItem(item.id, START), item)
})

testOnEngines('a product in the cart gets the quantity on its line', async (t) => {
  const cart = await cartOf(t)
  const { item } = await cart.add('tea', 2, START)
  const again = await cart.add('tea', 3, START + 1)
  t.notOk(again.added)
  t.same(again.item, { ...item, quantity: 5, version: 2, updatedAt: timestamp(START + 1) })
  t.match(await cart.show(START + 1), { items: [again.item], itemCount: 1, totalQuantity: 5, version: 2 })
})

testOnEngines('products are compared exactly as sent', async (t) => {
  const cart = await cartOf(t)
  // The last two look alike: one precomposed, one of two code points.
  const products = ['tea', 'Tea', 'tea ', ' tea', '\u00e9', 'e\u0301']
  for (const product of products) t.ok((await cart.add(product, 1, START)).added)
  const { items } = await cart.show(START)
  t.same(
    items.map((item) => item.product),
    products,
  )
})

testOnEngines('items stay in the order added, even those of one millisecond', async (t) => {
  const cart = await cartOf(t)
  const products = Array.from({ length: 20 }, (_, index) => `product ${(index * 7) % 20}`)
  for (const product of products) await cart.add(product, 1, START)
  await cart.add(products[0] as string, 5, START)
  const { items } = await cart.show(START)
  t.same(
    items.map((item) => item.product),
    products,
  )
})

testOnEngines('a line holds up to 9999', async (t) => {
  const cart = await cartOf(t)
  const { item } = await cart.add('tea', 9998, START)
  t.equal((await cart.add('tea', 1, START)).item.quantity, 9999)
  const before = await cart.show(START)
  await t.rejects(cart.add('tea', 1, START + 1), { code: 'quantity-limit', status: 409 })
  t.same(await cart.show(START + 1), before, 'the refused addition left no trace')
  t.equal((await cart.change(item.id, 1, START)).quantity, 1)
})

testOnEngines('a cart holds up to 200 lines', async (t) => {
  const cart = await cartOf(t)
  for (let index = 0; index < 200; index++) await cart.add(`product ${index}`, 1, START)
  const before = await cart.show(START)
  await t.rejects(cart.add('one more', 1, START + 1), { code: 'cart-full', status: 409 })
  t.same(await cart.show(START + 1), before, 'the refused line left no trace')
  t.notOk((await cart.add('product 7', 1, START)).added, 'its lines still take more')
  await cart.remove(before.items[0]?.id as string, START)
  t.ok((await cart.add('one more', 1, START)).added)
})

testOnEngines('every change raises the version of the cart and of the changed item', async (t) => {
  const cart = await cartOf(t)
  const tea = (await cart.add('tea', 1, START)).item
  const milk = (await cart.add('milk', 1, START)).item
  const versions = async () => {
    const { version, items } = await cart.show(START)
    return [version, ...items.map((item) => item.version)]
  }
  t.same(await versions(), [2, 1, 1])
  await cart.add('tea', 1, START)
  t.same(await versions(), [3, 2, 1])
  await cart.change(milk.id, 5, START)
  t.same(await versions(), [4, 2, 2])
  await cart.remove(tea.id, START)
  t.same(await versions(), [5, 2])
  await cart.empty(START)
  t.same(await versions(), [6])
})

testOnEngines('a request without a change keeps version, times and expiry', async (t) => {
  const cart = await cartOf(t)
  await cart.empty(START)
  t.equal((await cart.show(START)).version, 0, 'no cart was made to be emptied')
  const { item } = await cart.add('tea', 3, START)
  const before = await cart.show(START)
  t.same(await cart.change(item.id, 3, START + DAY), item)
  t.same(await cart.show(START + DAY), before)
  await cart.empty(START + DAY)
  const emptied = await cart.show(START + DAY)
  await cart.empty(START + 2 * DAY)
  t.same(await cart.show(START + 2 * DAY), emptied)
})

testOnEngines('emptying keeps the cart and its id', async (t) => {
  const cart = await cartOf(t)
  await cart.add('tea', 1, START)
  await cart.add('milk', 1, START)
  const { id, createdAt } = await cart.show(START)
  await cart.empty(START + 1)
  t.match(await cart.show(START + 1), {
    id,
    items: [],
    itemCount: 0,
    totalQuantity: 0,
    version: 3,
    createdAt,
    updatedAt: timestamp(START + 1),
    expiresAt: timestamp(START + 1 + 90 * DAY),
  })
})

for (const [caller, days] of [
  [guest, 30],
  [user, 90],
] as const) {
  testOnEngines(`the cart of a ${caller.kind} lives ${days} days from its last change`, async (t) => {
    const cart = await cartOf(t, caller)
    const { item } = await cart.add('tea', 1, START)
    const changes = [
      (now: number) => cart.add('tea', 1, now),
      (now: number) => cart.change(item.id, 9, now),
      (now: number) => cart.add('milk', 1, now),
      (now: number) => cart.remove(item.id, now),
      (now: number) => cart.empty(now),
    ]
    let now = START
    for (const change of changes) {
      now += days * DAY - 1
      await change(now)
      t.equal((await cart.show(now)).expiresAt, timestamp(now + days * DAY))
    }
  })
}

testOnEngines('an expired cart does not exist for its caller', async (t) => {
  const cart = await cartOf(t, guest)
  const { item } = await cart.add('tea', 1, START)
  const old = await cart.show(START)
  const late = START + 30 * DAY
  t.match(await cart.show(late - 1), { id: old.id, itemCount: 1 })
  t.match(await cart.show(late), { id: null, items: [], version: 0, createdAt: null, expiresAt: null })
  await t.rejects(cart.showItem(item.id, late), { code: 'item-not-found' })
  await t.rejects(cart.change(item.id, 5, late), { code: 'item-not-found' })
  await t.rejects(cart.remove(item.id, late), { code: 'item-not-found' })
  await cart.empty(late)
  t.match(await cart.show(late), { id: null, version: 0 }, 'emptying does not wake it')

  const fresh = await cart.add('tea', 4, late)
  t.ok(fresh.added)
  const shown = await cart.show(late)
  t.match(shown, {
    items: [fresh.item],
    itemCount: 1,
    totalQuantity: 4,
    version: 1,
    createdAt: timestamp(late),
  })
  t.not(shown.id, old.id)
})

/** The carts of a guest and a user on one database, and the claim of the one by the other. */
async function claimable(t: Test) {
  const { database } = await cartHost(t)
  const fill = async (caller: Caller, lines: Readonly<Record<string, number>>, now = START) => {
    for (const [product, quantity] of Object.entries(lines)) {
      await database.transaction(() => addItem(caller, { product, quantity }, undefined, now))
    }
    return showCart(database, caller, undefined, now)
  }
  return {
    fill,
    show: (caller: Caller, now: number) => showCart(database, caller, undefined, now),
    claim: (now: number) =>
      database.transaction(() => claimCart({ guest: guest.id, user: user.id }, undefined, now)),
    empty: (caller: Caller, now: number) => database.transaction(() => emptyCart(caller, undefined, now)),
  }
}

const linesOf = ({ items }: { items: { product: string; quantity: number }[] }) =>
  items.map(({ product, quantity }) => [product, quantity])

testOnEngines("a user without a cart gets the guest's", async (t) => {
  for (const [later, expired] of [
    [START + 1, false],
    [START + 90 * DAY, true],
  ] as const) {
    const { fill, show, claim } = await claimable(t)
    if (expired) await fill(user, { coffee: 9 })
    const before = await fill(guest, { tea: 2, milk: 1 }, later - 1)
    await claim(later)
    const { items, version, expiresAt, ...rest } = await show(user, later)
    t.match(rest, {
      id: before.id,
      totalQuantity: 3,
      createdAt: before.createdAt,
      updatedAt: timestamp(later),
    })
    t.same(items, before.items)
    t.equal(version, before.version + 1)
    t.equal(expiresAt, timestamp(later + 90 * DAY))
    t.match(await show(guest, later), { id: null, items: [] })
  }
})

testOnEngines(
  'a claim keeps the larger quantity of a product in both carts, and all other products',
  async (t) => {
    const { fill, show, claim } = await claimable(t)
    const own = await fill(user, { tea: 2, milk: 5, rice: 3 })
    const other = await fill(guest, { oats: 1, milk: 4, tea: 7, rice: 3, beans: 2 })
    await claim(START + DAY)
    const cart = await show(user, START + DAY)
    t.same(linesOf(cart), [
      ['tea', 7],
      ['milk', 5],
      ['rice', 3],
      ['oats', 1],
      ['beans', 2],
    ])
    t.match(cart, { id: own.id, updatedAt: timestamp(START + DAY), expiresAt: timestamp(START + 91 * DAY) })
    t.ok(cart.version > own.version)
    t.same(cart.items[0], { ...own.items[0], quantity: 7, version: 2, updatedAt: timestamp(START + DAY) })
    t.same(cart.items.slice(1), [...own.items.slice(1), other.items[0], other.items[4]])
    t.match(await show(guest, START + DAY), { id: null, items: [] })
    const added = await fill(user, { salt: 1 }, START + DAY)
    t.same(linesOf(added).at(-1), ['salt', 1], 'what comes later comes last')
    t.equal(added.version, cart.version + 1)
  },
)

testOnEngines('a claim without anything new keeps the cart as it is', async (t) => {
  const { fill, show, claim, empty } = await claimable(t)
  await claim(START)
  t.match(await show(user, START), { id: null, version: 0 })
  const own = await fill(user, { tea: 2, milk: 5 })
  await fill(guest, { tea: 1, milk: 5 })
  await claim(START + DAY)
  t.same(await show(user, START + DAY), own)
  await fill(guest, { tea: 9 })
  await claim(START + 30 * DAY)
  t.same(await show(user, START + DAY), own, 'an expired cart does not exist for its caller')
  await fill(guest, { tea: 9 }, START + 30 * DAY)
  await empty(guest, START + 30 * DAY)
  await claim(START + 30 * DAY)
  t.same(await show(user, START + DAY), own)
})

testOnEngines('a claim may exceed 200 lines, but not 9999 of a product', async (t) => {
  const { fill, show, claim } = await claimable(t)
  const lines = (name: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name} ${index}`, 9999]))
  await fill(user, lines('tea', 150))
  await fill(guest, { ...lines('tea', 20), ...lines('milk', 150) })
  await claim(START)
  t.match(await show(user, START), { itemCount: 300, totalQuantity: 300 * 9999 })
  await t.rejects(fill(user, { rice: 1 }), { code: 'cart-full' })
  await fill(guest, { rice: 1 })
  await claim(START)
  t.equal((await show(user, START)).itemCount, 301)
})

testOnEngines('the items of a full expired cart are deleted a few at a time, before the cart', async (t) => {
  const { database } = await cartHost(t)
  for (let index = 0; index < 120; index++) {
    await database.transaction(() =>
      addItem(user, { product: `tea ${index}`, quantity: 1 }, undefined, START),
    )
  }
  const left = async () => (await database.many(sql`SELECT id FROM cart_item`)).length
  const expire = () =>
    database.transaction(() =>
      deleteExpired('cart', { table: 'cart_item', of: 'cart_id' }, START + 365 * DAY),
    )
  const seen: number[] = []
  while (await expire()) seen.push(await left())
  t.same(seen, [70, 20])
  t.same([await left(), (await database.many(sql`SELECT id FROM cart`)).length], [0, 0])
})

testOnEngines('expired carts are deleted with their items, a few at a time; others stay', async (t) => {
  const { database } = await cartHost(t)
  const add = (caller: Caller, now: number) =>
    database.transaction(() => addItem(caller, { product: 'tea', quantity: 1 }, undefined, now))
  for (let index = 0; index < 130; index++) await add({ ...guest, id: `guest:old ${index}` }, START)
  await add(user, START)
  await add(guest, START + DAY)
  const late = START + 31 * DAY
  const left = async () => (await database.many(sql`SELECT id FROM cart_item`)).length
  const expire = () =>
    database.transaction(() => deleteExpired('cart', { table: 'cart_item', of: 'cart_id' }, late))
  t.ok(await expire(), 'there are more')
  t.equal(await left(), 82)
  while (await expire());
  t.equal(await left(), 2)
  t.equal((await database.many(sql`SELECT id FROM cart`)).length, 2)
})
