import type { TestCaller } from '@mortise/module-testkit'
import { cartHost, testOnEngines } from './cart-host.ts'

interface Line {
  product: string
  quantity: number
}

const linesOf = async (caller: TestCaller): Promise<Line[]> =>
  (await caller.get('/cart/item')).json().data.map(({ product, quantity }: Line) => ({ product, quantity }))

const byProduct = (one: Line, other: Line) => (one.product < other.product ? -1 : 1)

testOnEngines(
  'what is added while two users claim the cart is with the winner, or was refused',
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
      const answers = await Promise.all(claims)
      await Promise.all(adding)
      const won = answers.findIndex(({ statusCode }) => statusCode === 200) % 2
      t.same(
        answers.map(({ statusCode }) => statusCode),
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
