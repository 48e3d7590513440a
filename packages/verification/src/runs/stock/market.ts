import { setTimeout as pause } from 'node:timers/promises'
import type { Cut } from '../../harness/caller.ts'
import type { HostGroup } from '../../harness/host-group.ts'
import { Kills } from '../../harness/kills.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'
import { until } from '../../harness/until.ts'
import { apiShop } from './api-shop.ts'
import type { Buyer, Line, Product, Purchase, Shop } from './shop.ts'

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

/** A shop, and buyers whose connections are cut while its hosts are killed. They repeat a request until it is decided. */
export class Market {
  readonly products: readonly Product[]
  readonly failures: string[] = []
  readonly #round: Round
  readonly #shop: Shop
  readonly #random: Random
  readonly #kills: Kills
  /** The acknowledged price by product. Prices only rise. */
  readonly #prices: Map<string, number>
  buyers: readonly Buyer[] = []
  #keys = 0

  private constructor(round: Round, shop: Shop, random: Random, kills: Kills, products: readonly Product[]) {
    this.#round = round
    this.#shop = shop
    this.#random = random
    this.#kills = kills
    this.products = products
    this.#prices = new Map(products.map(({ id, price }) => [id, price]))
  }

  static async open(round: Round, hosts: HostGroup, options: MarketOptions): Promise<Market> {
    const { buyers, stocks, kills } = options
    // Several markets may share a database.
    const lot = round.random.between(0, 2 ** 31)
    const products = stocks.map((stock, index) => ({ id: `product-${lot}-${index}`, stock, price: 100 }))
    const shop = await apiShop(hosts)
    const market = new Market(round, shop, new Random(lot), new Kills(hosts, round, kills), products)
    for (const product of products) await shop.createProduct(product)
    const names = Array.from({ length: buyers }, (_, index) => `buyer-${lot}-${index}`)
    market.buyers = await Promise.all(names.map((name) => shop.buyer(name)))
    return market
  }

  async buy(buyer: Buyer, lines: readonly Line[]): Promise<Purchase | 'out of stock' | undefined> {
    const before = new Map(this.#prices)
    const bought = await this.#decide((key, cut) => buyer.buy(lines, key, cut))
    if (typeof bought !== 'object') return bought
    for (const { product, price } of bought.lines)
      if (price < (before.get(product) as number))
        this.failures.push(`${product} was sold for ${price}, and had cost ${before.get(product)} before`)
    const total = bought.lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
    if (bought.total !== total) this.failures.push(`a total is ${bought.total}, and its lines are ${total}`)
    return bought
  }

  /** Cancels or removes a purchase. */
  end(how: 'cancel' | 'remove', buyer: Buyer, purchase: Purchase) {
    return this.#decide((key, cut) => buyer[how](purchase, key, cut))
  }

  async raisePrice({ id }: Product): Promise<void> {
    const price = (this.#prices.get(id) as number) + 1
    await this.#shop.setPrice(id, price)
    this.#prices.set(id, price)
  }

  /** Checks while nobody buys: of each product, what is sold and what is left are the stock that it had. */
  async check(): Promise<void> {
    await until(() => !this.#kills.isStarting, PATIENCE)
    let sold: readonly Purchase[] = []
    let left: number[] = []
    const isQuiet = await until(async () => {
      sold = await this.#shop.purchases()
      left = await Promise.all(this.products.map(({ id }) => this.#shop.stockOf(id)))
      // Else one has expired meanwhile.
      return idsOf(sold) === idsOf(await this.#shop.purchases())
    }, QUIET)
    if (!isQuiet) this.failures.push(`purchases change ${QUIET / 1000} s after the last request`)
    const lines = sold.flatMap((purchase) => purchase.lines)
    for (const [index, { id, stock }] of this.products.entries()) {
      const count = lines.reduce((sum, { product, quantity }) => sum + (product === id ? quantity : 0), 0)
      const rest = left[index] as number
      if (count + rest !== stock || rest < 0)
        this.failures.push(`of ${stock} ${id}, ${count} are sold and ${rest} are left`)
    }
  }

  /** No more kills. */
  close(): Promise<void> {
    return this.#kills.end()
  }

  async #decide<Result>(attempt: (key: string, cut: Cut) => Promise<Result | undefined>) {
    const key = `key-${this.#keys++}`
    const cuts = ['during the request', 'before the response', 'during the response'] as const
    try {
      for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; ) {
        const cut = this.#random.chance(0.25) ? this.#random.oneOf(cuts) : undefined
        this.#round.count('requests')
        if (cut !== undefined) this.#round.count('connections cut')
        const result = await attempt(key, cut)
        if (result !== undefined) {
          this.#kills.responded()
          return result
        }
        await pause(this.#random.between(1, 40) * (this.#kills.isStarting ? 10 : 1))
      }
      this.failures.push(`a request had no response within ${PATIENCE / 1000} s`)
    } catch (error) {
      this.failures.push((error as Error).message)
    }
    return undefined
  }
}

const idsOf = (purchases: readonly Purchase[]) => String(purchases.map(({ id }) => id).sort())
