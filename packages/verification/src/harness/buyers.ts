import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, type Reply } from './ask.ts'

/** One intended purchase, with its own key. */
interface Wanted {
  readonly token: string
  readonly key: string
  /** The body of the acknowledged response, or undefined. */
  body: string | undefined
  /** Whether the response said that nothing was done (503). */
  denied: boolean
}

/**
 * Users who make one purchase after the other, each with an Idempotency-Key, and remember every
 * response. When the host is back, `check` repeats each key: acknowledged responses must be the
 * same byte for byte, and there must be as many purchases as keys.
 */
export class Buyers {
  readonly #tokens: readonly string[]
  readonly #wanted: Wanted[] = []
  readonly #agent = new Agent({ keepAlive: true })
  #running: Promise<unknown> | undefined
  #stopped = false
  #deaf = false
  #denied = 0

  /** @param tokens one JWT per user */
  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  get acknowledged(): number {
    return this.#wanted.filter(({ body }) => body !== undefined).length
  }

  /** The number of requests that the host rejected with nothing done. */
  get denied(): number {
    return this.#denied
  }

  /**
   * Makes purchases at the host at `url` until `stop`. A broken connection ends that user's part,
   * unless `continues`.
   */
  start(url: string, continues = false): void {
    this.#stopped = false
    this.#deaf = false
    this.#running = Promise.all(this.#tokens.map((token) => this.#buy(url, token, continues)))
  }

  /** Ignores all responses from now on, as if none arrived. */
  ignoreResponses(): void {
    this.#deaf = true
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** @returns what does not hold at the host at `url` */
  async check(url: string): Promise<string[]> {
    const failures: string[] = []
    for (const wanted of this.#wanted) {
      const { status, headers, body } = await this.#send(url, wanted)
      if (status !== 201) failures.push(`${wanted.key} gets ${status} when it is repeated: ${body}`)
      else if (wanted.denied && headers['idempotent-replayed'] === 'true')
        failures.push(`${wanted.key} was denied and has happened`)
      else if (wanted.body === undefined) wanted.body = body
      else if (headers['idempotent-replayed'] !== 'true')
        failures.push(`${wanted.key} was acknowledged and is lost`)
      else if (body !== wanted.body) failures.push(`${wanted.key} gets another response than before`)
      wanted.denied = false
    }
    for (const token of this.#tokens) {
      const keys = this.#wanted.filter((wanted) => wanted.token === token).length
      const headers = { authorization: `Bearer ${token}` }
      const { body } = await ask(this.#agent, { url: `${url}/purchase?rpp=1`, method: 'GET', headers })
      const { total } = JSON.parse(body)
      if (total !== keys) failures.push(`there are ${total} purchases for ${keys} keys of one user`)
    }
    return failures
  }

  close(): void {
    this.#agent.destroy()
  }

  async #buy(url: string, token: string, continues: boolean): Promise<void> {
    while (!this.#stopped) {
      const wanted: Wanted = { token, key: `key-${this.#wanted.length}`, body: undefined, denied: false }
      this.#wanted.push(wanted)
      try {
        const { status, body } = await this.#send(url, wanted)
        if (this.#deaf) continue
        if (status === 201) wanted.body = body
        else {
          wanted.denied = status === 503
          if (wanted.denied) this.#denied += 1
          await pause(20)
        }
      } catch {
        if (!continues) return
        await pause(20)
      }
    }
  }

  #send(url: string, { token, key }: Wanted): Promise<Reply> {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': key }
    const body = JSON.stringify({ items: [{ product: key, quantity: 1 }] })
    return ask(this.#agent, { url: `${url}/purchase`, method: 'POST', headers, body })
  }
}
