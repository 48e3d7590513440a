import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** Callers who keep their connection and ask again and again, some of them seldom; any response but 200 is a failure. */
export class KeepAliveClients {
  readonly failures: string[] = []
  requests = 0
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>[]

  /** @param url what they ask */
  constructor(url: string, count: number) {
    this.#running = Array.from({ length: count }, (_, number) => this.#run(url, number % 4 === 0 ? 700 : 20))
  }

  /** Resolves when so many more requests have a response. */
  async responded(count: number): Promise<void> {
    for (const until = this.requests + count; this.requests < until; ) await pause(5)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#running)
  }

  async #run(url: string, between: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!this.#stopped.signal.aborted) {
      const outcome = await get(url, agent).catch((error: Error) => error.message)
      this.requests += 1
      if (outcome !== 200) this.failures.push(`${outcome}`)
      await pause(between)
    }
    agent.destroy()
  }
}

function get(url: string, agent: Agent): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  request(url, { agent }, (response) => {
    response
      .on('error', reject)
      .on('end', () => resolve(response.statusCode))
      .resume()
  })
    .on('error', reject)
    .end()
  return promise
}
