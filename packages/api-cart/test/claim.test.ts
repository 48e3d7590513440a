import { byEngine, type Caller, one, sql, type Transaction } from '@mortise/module-sdk'
import type { TestCaller, TestEngine } from '@mortise/module-testkit'
import type { Test } from 'tap'
import { addItem, claimCart, removeItem, showCart } from '../src/service.ts'
import { cartHost, testOnEngines } from './cart-host.ts'

interface Line {
  product: string
  quantity: number
}

const linesOf = async (caller: TestCaller): Promise<Line[]> =>
  (await caller.get('/cart/item')).json().data.map(({ product, quantity }: Line) => ({ product, quantity }))

const byProduct = (one: Line, other: Line) => (one.product < other.product ? -1 : 1)

testOnEngines(
  'two users claim a cart at once: the winner has an item that is added meanwhile, or it is refused',
  async (t) => {
    const host = await cartHost(t, { rehearse: false })
    for (let round = 0; round < 5; round++) {
      const guest = host.guest()
      await guest.post('/cart/item', { product: 'first', quantity: 1 })
      const users = [host.user(`ann ${round}`), host.user(`ben ${round}`)]
      await users[0]?.post('/cart/item', { product: 'own', quantity: 7 })
      const acknowledged: Line[] = [{ product: 'first', quantity: 1 }]
      const add = async (product: string) => {
        const line = { product, quantity: 2 }
        const { statusCode } = await guest.post('/cart/item', line)
        t.ok([201, 401].includes(statusCode), String(statusCode))
        if (statusCode === 201) acknowledged.push(line)
      }
      const adding = Array.from({ length: 10 }, (_, index) => add(`before ${index}`))
      const claims = [...users, ...users].map((user) => user.claim(guest))
      adding.push(...Array.from({ length: 10 }, (_, index) => add(`after ${index}`)))
      const responses = await Promise.all(claims)
      await Promise.all(adding)
      const won = responses.findIndex(({ statusCode }) => statusCode === 200) % 2
      t.same(
        responses.map(({ statusCode }) => statusCode),
        [0, 1, 0, 1].map((user) => (user === won ? 200 : 404)),
      )
      const [winner, loser] = won === 0 ? users : users.toReversed()
      const own = [{ product: 'own', quantity: 7 }]
      const expected = [...acknowledged, ...(won === 0 ? own : [])]
      t.same((await linesOf(winner as TestCaller)).sort(byProduct), expected.sort(byProduct))
      t.same(await linesOf(loser as TestCaller), won === 0 ? [] : own)
    }
  },
)

const user: Caller = { id: 'user:1', kind: 'user', has: () => false }
const guest: Caller = { id: 'guest:1', kind: 'guest', has: () => false }

/** Makes PostgreSQL plan as with many carts: of a small table it reads all rows, which makes transactions conflict. */
function* byIndex(): Transaction<void> {
  const set = sql`SELECT set_config('enable_seqscan', 'off', true)`
  yield* one(byEngine({ sqlite: sql`SELECT 1`, postgres: set }))
}

/** A claim that begins before a change of the user's cart and ends after it, if transactions run in parallel. */
async function changeDuringClaim(t: Test, engine: TestEngine, change: (tea: string) => Transaction<unknown>) {
  const { database } = await cartHost(t, { rehearse: false })
  const { item } = await database.transaction(() => addItem(user, { product: 'tea', quantity: 2 }))
  for (const product of ['tea', 'milk'])
    await database.transaction(() => addItem(guest, { product, quantity: 1 }))
  const begun = Promise.withResolvers<void>()
  let isChanged = false
  const claim = database.transaction(function* () {
    yield* byIndex()
    begun.resolve()
    while (engine === 'postgres' && !isChanged) yield* one(sql`SELECT 1`)
    yield* claimCart({ guest: guest.id, user: user.id })
  })
  await begun.promise
  await database.transaction(function* () {
    yield* byIndex()
    yield* change(item.id)
  })
  const { itemCount: left } = await showCart(database, guest)
  t.equal(left, engine === 'postgres' ? 2 : 0)
  isChanged = true
  await claim
  const { items } = await showCart(database, user)
  return items.map(({ product, quantity }) => `${quantity} ${product}`)
}

testOnEngines(
  'an item removed during a claim stays away, unless the guest still had it',
  async (t, engine) => {
    const lines = await changeDuringClaim(t, engine, (tea) => removeItem(user, tea))
    t.same(lines, engine === 'postgres' ? ['1 tea', '1 milk'] : ['1 milk'])
  },
)

testOnEngines(
  'an item added during a claim shares one line with the same product of the guest',
  async (t, engine) => {
    const lines = await changeDuringClaim(t, engine, () => addItem(user, { product: 'milk', quantity: 5 }))
    t.same(lines, ['2 tea', engine === 'postgres' ? '5 milk' : '6 milk'])
  },
)

testOnEngines('a claim brings the notes of the guest, where the user has none', async (t) => {
  const host = await cartHost(t)
  const [guest, ann] = [host.guest(), host.user('ann')]
  const items = (noted: Record<string, string | null>) => Object.entries(noted)
  for (const [product, note] of items({ tea: 'loose', milk: 'cold', oats: 'fine' }))
    await guest.post('/cart/item', { product, quantity: 1, ...(note && { note }) })
  for (const [product, note] of items({ tea: 'in bags', milk: null }))
    await ann.post('/cart/item', { product, quantity: 1, ...(note && { note }) })
  await ann.claim(guest)
  const lines: { product: string; note: string }[] = (await ann.get('/cart/item')).json().data
  t.same(Object.fromEntries(lines.map(({ product, note }) => [product, note])), {
    ...{ tea: 'in bags', milk: 'cold', oats: 'fine' },
  })
})
