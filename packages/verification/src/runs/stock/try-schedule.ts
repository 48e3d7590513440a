import { setTimeout as pause } from 'node:timers/promises'
import { Random } from '../../harness/random.ts'
import type { Market } from './market.ts'
import type { Buyer, Purchase } from './shop.ts'

const ACTIONS_OF_EACH = 3
const PRICES = 6

/**
 * Buyers change their carts, reserve, buy, cancel and delete at once while prices rise, and purchases
 * and reservations expire; then all is checked.
 */
export async function trySchedule(market: Market, seed: number, count: (what: string) => unknown) {
  const random = new Random(seed)
  const { products } = market
  const act = async (buyer: Buyer, own: Random) => {
    const bought: Purchase[] = []
    const buy = async () => {
      // In any order, and sometimes two lines of one product.
      const lines = Array.from({ length: own.between(1, 3) }, () => ({
        ...{ product: own.oneOf(products).id, quantity: own.between(1, 4) },
      }))
      const purchase = await market.buy(buyer, lines)
      if (typeof purchase === 'object') bought.push(purchase)
      if (purchase !== undefined) count(purchase === 'out of stock' ? purchase : 'bought')
    }
    const reserve = async () => {
      const reserved = await market.reserve(buyer)
      if (reserved !== undefined) count(reserved === true ? 'reserved' : reserved)
    }
    /** Often fewer than are reserved. */
    const fill = async () => {
      const quantities = new Map(
        Array.from({ length: own.between(1, 3) }, () => [own.oneOf(products).id, own.between(1, 4)]),
      )
      await market.fill(
        buyer,
        Array.from(quantities, ([product, quantity]) => ({ product, quantity })),
      )
    }
    const end = async (how: 'cancel' | 'remove', purchase: Purchase) => {
      const ended = await market.end(how, buyer, purchase)
      if (ended !== undefined) count(ended === 'now' ? `${how}s` : 'ended before')
    }
    for (let left = ACTIONS_OF_EACH; left > 0; left -= 1) {
      const any = bought.length === 0 ? undefined : own.oneOf(bought)
      const ends = any === undefined ? [] : [() => end('cancel', any), () => end('remove', any)]
      // In the pause it may expire.
      const others = [
        ...ends,
        () => fill().then(reserve),
        () => fill().then(reserve).then(buy),
        () => fill().then(() => Promise.all([reserve(), buy(), fill()])),
        () => Promise.all(ends.map((each) => each())),
        () => pause(own.between(0, 400)),
      ]
      await (own.chance(0.5) ? buy : own.oneOf<() => Promise<unknown>>(others))()
    }
  }
  const raise = async () => {
    for (let left = PRICES; left > 0; left -= 1) await market.raisePrice(random.oneOf(products))
  }
  await Promise.all([
    raise(),
    ...market.buyers.map((buyer) => act(buyer, new Random(random.between(0, 2 ** 31)))),
  ])
  await market.check()
  count('schedules')
}
