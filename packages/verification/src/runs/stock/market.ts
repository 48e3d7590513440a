import { setTimeout as pause } from 'node:timers/promises'
import type { Cut } from '../../harness/caller.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Kills } from '../../harness/kills.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'
import { until } from '../../harness/until.ts'
import { apiShop } from './api-shop.ts'
import type { Buyer, Line, Product, Purchase } from './shop.ts'

/** The time limit for the response to a key, in milliseconds. */
const PATIENCE = 120_000
/** The time limit until nothing expires any more, in milliseconds. */
const QUIET = 30_000

export interface MarketOptions {
  readonly buyers: number
  /** Of each product. */
  readonly stocks: readonly number[]
  /** The responses between two kills of a host. */
  readonly kills: readonly [least: number, most: number]
}

export type Market = Awaited<ReturnType<typeof openMarket>>

/**
 * Opens a shop. The buyers' connections are cut while its hosts are killed, and they repeat a request
 * under its key until it is decided.
 */
export async function openMarket(round: Round, hosts: HostGroup, options: MarketOptions) {
  const kills = new Kills(hosts, round, options.kills)
  const shop = await apiShop(hosts)
  // Several markets may share a database.
  const lot = round.random.between(0, 2 ** 31)
  const random = new Random(lot)
  const products = options.stocks.map((stock, index) => ({
    ...{ id: `product-${lot}-${index}`, stock, price: 100 },
  }))
  for (const product of products) await shop.createProduct(product)
  const names = Array.from({ length: options.buyers }, (_, index) => `buyer-${lot}-${index}`)
  const buyers = await Promise.all(names.map((name) => shop.buyer(name)))
  const failures: string[] = []
  /** The acknowledged price by product. Prices only rise. */
  const prices = new Map(products.map(({ id, price }) => [id, price]))
  let keys = 0

  async function decide<Result>(attempt: (key: string, cut: Cut) => Promise<Result | undefined>) {
    const key = `key-${keys++}`
    const cuts = ['during the request', 'before the response', 'during the response'] as const
    try {
      for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; ) {
        const cut = random.chance(0.25) ? random.oneOf(cuts) : undefined
        round.count('requests')
        if (cut !== undefined) round.count('connections cut')
        const result = await attempt(key, cut)
        if (result !== undefined) {
          kills.responded()
          return result
        }
        await pause(random.between(1, 40) * (kills.isStarting ? 10 : 1))
      }
      failures.push(`a request had no response within ${PATIENCE / 1000} s`)
    } catch (error) {
      failures.push((error as Error).message)
    }
    return undefined
  }

  async function readTaken() {
    const sold = (await shop.purchases()).toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const reserved = await Promise.all(buyers.map((buyer) => buyer.reserved()))
    return { sold: sold.flatMap(({ lines }) => lines), reserved: reserved.flat() }
  }

  return {
    products,
    buyers,
    failures,

    async buy(buyer: Buyer, lines: readonly Line[]): Promise<Purchase | 'out of stock' | undefined> {
      const before = new Map(prices)
      const bought = await decide((key, cut) => buyer.buy(lines, key, cut))
      if (typeof bought !== 'object') return bought
      for (const { product, price } of bought.lines)
        if (price < (before.get(product) as number))
          failures.push(`${product} was sold for ${price}, and had cost ${before.get(product)} before`)
      const total = bought.lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
      if (bought.total !== total) failures.push(`a total is ${bought.total}, and its lines are ${total}`)
      return bought
    },

    fill: (buyer: Buyer, lines: readonly Line[]) => decide((key, cut) => buyer.fill(lines, key, cut)),
    reserve: (buyer: Buyer) => decide((key, cut) => buyer.reserve(key, cut)),

    end: (how: 'cancel' | 'remove', buyer: Buyer, purchase: Purchase) =>
      decide((key, cut) => buyer[how](purchase, key, cut)),

    async raisePrice({ id }: Product) {
      const price = (prices.get(id) as number) + 1
      await shop.setPrice(id, price)
      prices.set(id, price)
    },

    /**
     * Checks while nobody buys: of each product, what is sold, reserved and left are the stock that it
     * had.
     */
    async check() {
      await until(() => !kills.isStarting, PATIENCE)
      let taken = await readTaken()
      let left: number[] = []
      const isQuiet = await until(async () => {
        left = await Promise.all(products.map(({ id }) => shop.stockOf(id)))
        const before = JSON.stringify(taken)
        taken = await readTaken()
        // Else something has expired meanwhile.
        return JSON.stringify(taken) === before
      }, QUIET)
      if (!isQuiet) failures.push(`purchases or reservations change ${QUIET / 1000} s after the last request`)
      for (const [index, { id, stock }] of products.entries()) {
        const [sold, reserved] = [taken.sold, taken.reserved].map((lines) =>
          lines.reduce((sum, { product, quantity }) => sum + (product === id ? quantity : 0), 0),
        ) as [number, number]
        const rest = left[index] as number
        if (sold + reserved + rest !== stock || rest < 0)
          failures.push(`of ${stock} ${id}, ${sold} are sold, ${reserved} reserved and ${rest} left`)
      }
    },

    /** No more kills. */
    close: () => kills.end(),
  }
}
