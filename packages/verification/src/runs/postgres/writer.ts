import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../harness/random.ts'

export interface WriterOptions {
  /** The URL of its host. */
  readonly url: string
  /** Its JWT; no other writer has this user. */
  readonly token: string
  readonly random: Random
  readonly onFailure: (text: string) => void
}

/** The largest quantity of a line of the cart. */
const LINE = 9_000
const PAUSE_MS = 20

interface Reply {
  readonly status: number
  readonly retryAfter: string | null
  // biome-ignore lint/suspicious/noExplicitAny: whatever the host returns
  readonly body: any
}

/** A caller that fills its cart and purchases, and records its acknowledged writes. */
export class Writer {
  readonly #options: WriterOptions
  readonly #quantities = new Map<string, number>()
  #purchases = 0
  /** Purchases acknowledged since the last check. */
  #fresh: string[] = []
  #running: Promise<void> | undefined
  #stopped = false
  /** Acknowledged writes, and writes refused with 503. */
  acknowledged = 0
  refused = 0
  /** Writes with an unknown outcome. */
  unknown = 0
  /** Acknowledged writes that are missing, and writes that exist twice or although refused. */
  lost = 0
  doubled = 0
  /** The slowest response to a write, in milliseconds. */
  slowest = 0
  /** The time of the last acknowledgement, by `performance.now()`. */
  last = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  start(): void {
    this.#stopped = false
    this.#running = this.#run()
  }

  /** Resolves after the last response. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** Checks, while it is stopped, that exactly the acknowledged writes exist. */
  async check(): Promise<void> {
    const [cart, list] = [await this.#read('/cart'), await this.#read('/purchase?rpp=1')]
    const found = new Map(cart.body.items.map(({ product, quantity }: never) => [product, quantity]))
    for (const [product, quantity] of this.#quantities) {
      const there = Number(found.get(product) ?? 0)
      if (there !== quantity) {
        this.#differs(there - quantity)
        this.#fail(`the cart has ${found.get(product)} of ${product}, and ${quantity} were acknowledged`)
      }
    }
    if (list.body.total !== this.#purchases) {
      this.#differs(list.body.total - this.#purchases)
      this.#fail(`there are ${list.body.total} purchases, and ${this.#purchases} were acknowledged`)
    }
    for (const id of this.#fresh.splice(0)) await this.#read(`/purchase/${id}`)
  }

  /** Reads its purchases. @returns the status */
  async look(): Promise<number> {
    return (await this.#ask('/purchase?rpp=1')).status
  }

  #differs(by: number): void {
    if (by < 0) this.lost -= by
    else this.doubled += by
  }

  #fail(text: string): void {
    this.#options.onFailure(`${this.#options.url}: ${text}`)
  }

  async #run(): Promise<void> {
    const { random } = this.#options
    while (!this.#stopped) {
      try {
        await (random.chance(0.5) ? this.#addToCart() : this.#purchase())
      } catch (error) {
        this.#fail(`a request failed: ${((error as Error).cause ?? error) as Error}`)
      }
      await pause(random.between(0, PAUSE_MS))
    }
  }

  async #addToCart(): Promise<void> {
    const product = `tea-${Math.floor(this.acknowledged / LINE)}`
    const before = this.#quantities.get(product) ?? 0
    const response = await this.#post('/cart/item', { product, quantity: 1 })
    const isDone = await this.#isDone(response, async () => {
      const { body } = await this.#read('/cart')
      const line = body.items.find((item: { product: string }) => item.product === product)
      return (line?.quantity ?? 0) - before
    })
    if (isDone) this.#quantities.set(product, before + 1)
  }

  async #purchase(): Promise<void> {
    const response = await this.#post('/purchase', { items: [{ product: 'tea', quantity: 2 }] })
    const isDone = await this.#isDone(
      response,
      async () => (await this.#read('/purchase?rpp=1')).body.total - this.#purchases,
    )
    if (!isDone) return
    this.#purchases += 1
    if (response.status === 201) this.#fresh.push(response.body.id)
  }

  /** Whether the write happened. For an unknown outcome `more` counts the new rows. */
  async #isDone({ status, retryAfter, body }: Reply, more: () => Promise<number>): Promise<boolean> {
    if (status === 200 || status === 201) {
      this.acknowledged += 1
      this.last = performance.now()
      return true
    }
    if (status === 503 && retryAfter !== null) {
      this.refused += 1
      return false
    }
    if (body.code !== 'outcome-unknown') {
      this.#fail(`a write got ${status} ${JSON.stringify(body)}`)
      return false
    }
    this.unknown += 1
    const count = await more()
    if (count !== 0 && count !== 1) this.#fail(`a write with an unknown outcome happened ${count} times`)
    return count === 1
  }

  /** Reads until the database is available. */
  async #read(path: string): Promise<Reply> {
    for (;;) {
      const response = await this.#ask(path)
      if (response.status === 200) return response
      if (response.status !== 503 || response.retryAfter === null) {
        this.#fail(`${path} got ${response.status} ${JSON.stringify(response.body)}`)
        return response
      }
      await pause(PAUSE_MS)
    }
  }

  async #post(path: string, body: object): Promise<Reply> {
    const begun = performance.now()
    const response = await this.#ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    this.slowest = Math.max(this.slowest, performance.now() - begun)
    return response
  }

  async #ask(path: string, init: RequestInit = {}): Promise<Reply> {
    const { url, token } = this.#options
    const headers = { ...init.headers, authorization: `Bearer ${token}` }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.json(),
    }
  }
}
