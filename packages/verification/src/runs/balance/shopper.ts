import { setTimeout } from 'node:timers/promises'
import type { Random } from '../../harness/random.ts'
import type { Acknowledged } from './acknowledged.ts'

export interface ShopperOptions {
  /** Chooses the host of the next request. */
  readonly target: () => string
  /** The JWT of the caller. Several shoppers may share it. */
  readonly token: string
  readonly acknowledged: Acknowledged
  readonly random: Random
  /** Receives every failure. */
  readonly onFailure: (text: string) => void
}

interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
  readonly body: any
}

/**
 * The longest pause between two requests of a shopper, in milliseconds: the run needs steady load,
 * not peak load.
 */
const PAUSE = 150

const products = Array.from({ length: 20 }, (_, number) => `tea-${number}`)

/**
 * A caller who adds to a cart, buys, and reads both. Every host must show every acknowledged write.
 */
export class Shopper {
  readonly #options: ShopperOptions
  #stopped = false
  #running: Promise<void> | undefined
  requests = 0
  /**
   * The number of rejected writes because a host was busy. Nothing changed, and the request was
   * sent again.
   */
  busy = 0

  constructor(options: ShopperOptions) {
    this.#options = options
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Resolves after the last response. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async cart(): Promise<{ product: string; quantity: number }[]> {
    return (await this.#ask(200, 'GET', '/cart')).body.items
  }

  /** The ids of all purchases of the caller. */
  async purchases(): Promise<string[]> {
    const ids: string[] = []
    for (let page = 1; ; page++) {
      const { data, total } = (await this.#ask(200, 'GET', `/purchase?page=${page}&rpp=100`)).body
      ids.push(...data.map(({ id }: { id: string }) => id))
      if (ids.length >= total || data.length === 0) return ids
    }
  }

  async #run(): Promise<void> {
    const { random, onFailure } = this.#options
    const kinds = [
      [5, () => this.#add()],
      [2, () => this.#buy()],
      [3, () => this.#look()],
      [1, () => this.#readThird()],
    ] as const
    while (!this.#stopped) {
      const kind = random.weighted(kinds)
      await kind().catch((error: Error) => onFailure(error.message))
      await setTimeout(random.between(0, PAUSE))
    }
  }

  async #add(): Promise<void> {
    const { random, acknowledged } = this.#options
    const product = products[random.between(0, products.length - 1)] as string
    const { status, body } = await this.#fetch('POST', '/cart/item', { product, quantity: 1 })
    if (status !== 200 && status !== 201) throw wrong('POST /cart/item', status, body)
    acknowledged.added(product, 1)
  }

  async #buy(): Promise<void> {
    const { random, acknowledged } = this.#options
    const items = products
      .slice(0, random.between(1, 3))
      .map((product) => ({ product, quantity: random.between(1, 9) }))
    const { id } = (await this.#ask(201, 'POST', '/purchase', { items })).body
    acknowledged.purchased(id)
    const bought = (await this.#ask(200, 'GET', `/purchase/${id}`)).body
    if (bought.items.length !== items.length)
      throw new Error(`${id} has ${bought.items.length} lines of ${items.length}`)
  }

  async #look(): Promise<void> {
    const items = await this.cart()
    if (new Set(items.map(({ product }) => product)).size < items.length)
      throw new Error('a cart has two lines of one product')
  }

  /** The third module may be installed or absent. */
  async #readThird(): Promise<void> {
    const { status, body } = await this.#fetch('GET', '/tally')
    if (status !== 200 && status !== 404) throw wrong('GET /tally', status, body)
  }

  async #ask(wanted: number, method: string, path: string, sent?: object): Promise<Reply> {
    const { status, body } = await this.#fetch(method, path, sent)
    if (status !== wanted) throw wrong(`${method} ${path}`, status, body)
    return { status, body }
  }

  async #fetch(method: string, path: string, sent?: object): Promise<Reply> {
    for (;;) {
      const response = await this.#fetchOnce(method, path, sent)
      if (response.status !== 503 || response.body.code !== 'busy') return response
      this.busy += 1
    }
  }

  async #fetchOnce(method: string, path: string, sent?: object): Promise<Reply> {
    this.requests += 1
    const response = await fetch(`${this.#options.target()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#options.token}`,
        ...(sent && { 'content-type': 'application/json' }),
      },
      ...(sent && { body: JSON.stringify(sent) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    return { status: response.status, body: isJson ? JSON.parse(text) : text }
  }
}

const wrong = (what: string, status: number, body: unknown) =>
  new Error(`${what} returned ${status} ${JSON.stringify(body).slice(0, 300)}`)
