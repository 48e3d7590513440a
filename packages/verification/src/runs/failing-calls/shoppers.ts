import { Agent } from 'node:http'
import { type Asked, ask, type Reply } from '../../harness/ask.ts'

/**
 * A write, and its outcome for the caller: done, not done, or unknown (a broken connection,
 * `outcome-unknown`).
 */
interface Write {
  readonly caller: number
  readonly name: string
  readonly kind: 'purchase' | 'item'
  outcome: 'done' | 'not done' | 'unknown'
  body: string
}

/** The most writes of each caller. */
const WRITES = 12

/**
 * Callers who in turn add to their cart without a key, and purchase with one. After the application
 * has restarted, `check` looks for each write: an acknowledged write exists once, a rejected one
 * does not.
 */
export class Shoppers {
  readonly #callers: readonly Readonly<Record<string, string>>[]
  readonly #writes: Write[] = []
  readonly #agent = new Agent({ keepAlive: true })

  /** @param tokens one JWT per user; each also gets a guest */
  constructor(tokens: readonly string[]) {
    this.#callers = tokens.map((token) => ({ authorization: `Bearer ${token}` }))
  }

  get acknowledged(): number {
    return this.#count('done')
  }

  get unknown(): number {
    return this.#count('unknown')
  }

  /** Runs until each caller has made its writes, or meets a broken connection. */
  async shop(url: string): Promise<void> {
    await Promise.all(this.#callers.map((_, caller) => this.#shop(url, caller)))
  }

  /** @returns what does not hold at the host at `url` */
  async check(url: string): Promise<string[]> {
    const failures: string[] = []
    for (const [caller, headers] of this.#callers.entries()) {
      const get = async (path: string) =>
        JSON.parse((await ask(this.#agent, { url: url + path, method: 'GET', headers })).body)
      const own = this.#writes.filter((write) => write.caller === caller)
      const products: string[] = (await get('/cart/item')).data.map(
        (item: { product: string }) => item.product,
      )
      let purchases = 0
      for (const write of own) {
        const { name, kind, outcome, body } = write
        const found =
          kind === 'item'
            ? products.filter((product) => product === name).length
            : Number((await get(`/idempotency/${name}`)).state === 'done')
        if (kind === 'purchase') purchases += found
        if (outcome === 'done' && found !== 1)
          failures.push(`${kind} ${name} was acknowledged and is there ${found} times`)
        if (outcome === 'not done' && found > 0)
          failures.push(`${kind} ${name} is there, and its caller was informed that it is not: ${body}`)
        if (kind === 'purchase' && outcome === 'done') {
          const again = await this.#send(url, write)
          if (again.body !== body)
            failures.push(`${name} gets another response when it is repeated: ${again.body}`)
        }
      }
      const { total } = await get('/purchase?rpp=1')
      if (total !== purchases) failures.push(`${total} purchases for ${purchases} keys that are done`)
      const { data } = await get('/event?limit=100')
      const events = data.filter(({ type }: { type: string }) => type === 'purchase.created').length
      if (events !== total) failures.push(`${events} events of ${total} purchases`)
    }
    return failures
  }

  close(): void {
    this.#agent.destroy()
  }

  #count(outcome: Write['outcome']): number {
    return this.#writes.filter((write) => write.outcome === outcome).length
  }

  async #shop(url: string, caller: number): Promise<void> {
    for (let number = 0; number < WRITES; number += 1) {
      const kind = number % 2 === 0 ? 'item' : 'purchase'
      const write: Write = { caller, name: `${kind}-${caller}-${number}`, kind, outcome: 'unknown', body: '' }
      this.#writes.push(write)
      try {
        const { status, body } = await this.#send(url, write)
        const isUnknown = JSON.parse(body).code === 'outcome-unknown'
        Object.assign(write, { body, outcome: status < 300 ? 'done' : isUnknown ? 'unknown' : 'not done' })
      } catch {
        return
      }
    }
  }

  #send(url: string, { caller, kind, name }: Write): Promise<Reply> {
    const headers = this.#callers[caller] as Record<string, string>
    const item = { product: name, quantity: 1 }
    const asked: Asked =
      kind === 'item'
        ? { url: `${url}/cart/item`, method: 'POST', headers, body: JSON.stringify(item) }
        : {
            url: `${url}/purchase`,
            method: 'POST',
            headers: { ...headers, 'idempotency-key': name },
            body: JSON.stringify({ items: [item] }),
          }
    return ask(this.#agent, asked)
  }
}
