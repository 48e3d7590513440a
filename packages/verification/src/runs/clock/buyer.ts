import { randomUUID } from 'node:crypto'
import type { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Reply } from '../../harness/ask.ts'
import { Random } from '../../harness/random.ts'

export interface BuyerOptions {
  readonly agent: Agent
  /** The present URL of the host. */
  readonly url: () => string
  readonly token: string
  readonly seed: number
}

/**
 * A user who fills a cart and purchases, one request after the other. Each has a key and is
 * repeated until the host responds.
 */
export class Buyer {
  readonly #options: BuyerOptions
  readonly #random: Random
  /** The ids of the purchases, in order of acknowledgement. */
  readonly bought: string[] = []
  readonly #keys: { readonly key: string; readonly body: string }[] = []
  readonly #wrong: string[] = []
  #added = 0
  #stopped = false
  repetitions = 0

  constructor(options: BuyerOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
  }

  stop(): void {
    this.#stopped = true
  }

  async work(): Promise<void> {
    while (!this.#stopped) {
      const chosen = this.#random.between(1, 10)
      if (chosen <= 3) await this.#add()
      else if (chosen <= 5 && this.#keys.length > 0) await this.#repeat()
      else await this.#buy()
      await pause(this.#random.between(5, 30))
    }
  }

  /** Compares the present data with the acknowledged writes. */
  async compare(): Promise<string[]> {
    const failures = [...this.#wrong]
    const listed: string[] = []
    for (let path: string | undefined = '/purchase?rpp=100'; path !== undefined; ) {
      const { headers, body } = await this.#send('GET', path)
      listed.push(...JSON.parse(body).data.map(({ id }: { id: string }) => id))
      path = /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
    }
    if (listed.reverse().join() !== this.bought.join()) {
      failures.push(
        `${this.bought.length} purchases were acknowledged, ${listed.length} are listed, or in another order`,
      )
    }
    const { totalQuantity } = JSON.parse((await this.#send('GET', '/cart')).body)
    if (totalQuantity !== this.#added)
      failures.push(`${this.#added} were added to a cart that has ${totalQuantity}`)
    return failures
  }

  async #add(): Promise<void> {
    const body = JSON.stringify({ product: `p${this.#random.between(1, 9)}`, quantity: 1 })
    const { status } = await this.#untilResponse('/cart/item', randomUUID(), body)
    if (status === 200 || status === 201) this.#added += 1
    else this.#wrong.push(`an addition got ${status}`)
  }

  async #buy(): Promise<void> {
    const body = JSON.stringify({ items: [{ product: 'tea', quantity: this.#random.between(1, 9) }] })
    const key = randomUUID()
    const responded = await this.#untilResponse('/purchase', key, body)
    if (responded.status !== 201) this.#wrong.push(`a purchase got ${responded.status}`)
    else this.bought.push(JSON.parse(responded.body).id)
    this.#keys.push({ key, body })
  }

  /** Repeats an earlier purchase, like a client that missed the response. */
  async #repeat(): Promise<void> {
    const index = this.#random.between(0, this.#keys.length - 1)
    const { key, body } = this.#keys[index] as { key: string; body: string }
    const responded = await this.#untilResponse('/purchase', key, body)
    this.repetitions += 1
    if (JSON.parse(responded.body).id !== this.bought[index]) this.#wrong.push('a key got another purchase')
  }

  async #untilResponse(path: string, key: string, body: string): Promise<Reply> {
    for (;;) {
      try {
        const responded = await this.#send('POST', path, body, { 'idempotency-key': key })
        if (responded.status < 500 && responded.status !== 409) return responded
      } catch {
        // Killed: the outcome is unknown.
      }
      await pause(50)
    }
  }

  #send(method: 'GET' | 'POST', path: string, body = '', more: Record<string, string> = {}): Promise<Reply> {
    const { agent, url, token } = this.#options
    return ask(agent, {
      url: url() + path,
      method,
      headers: { authorization: `Bearer ${token}`, ...more },
      body,
    })
  }
}
