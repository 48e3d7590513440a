import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../../harness/child.ts'
import { hostServer } from '../../harness/host-group.ts'
import type { Round } from '../../harness/round.ts'
import { Shoppers } from '../../harness/shoppers.ts'

const PAUSE = [0, 20] as const

/** A host with its shoppers, whose health is polled until the end of the round. */
export class WatchedHost {
  readonly url: string
  readonly shoppers: Shoppers
  readonly #round: Round
  #stopped = false
  ready = true
  /** False if it was not ready since this was set. */
  wasReady = true
  /** Its log lines. */
  lines = 0

  private constructor(round: Round, url: string, tokens: readonly string[]) {
    this.#round = round
    this.url = url
    this.shoppers = new Shoppers(round, tokens, {
      does: [
        [1, 'addition'],
        [1, 'purchase'],
      ],
      keyed: [],
      pause: PAUSE,
      mayGet: ({ status, headers, code }) =>
        status < 300 ||
        (status === 503 && headers['retry-after'] !== undefined) ||
        code === 'outcome-unknown',
    })
    const watching = this.#watch()
    round.teardown(async () => {
      this.#stopped = true
      await watching
    })
  }

  static async start(
    round: Round,
    directory: string,
    database: string,
    tokens: readonly string[],
  ): Promise<WatchedHost> {
    let host: WatchedHost | undefined
    const child = new Child(hostServer, (line) => {
      if (host) host.lines += 1
      // For example the reason why it cannot start.
      if (!line.startsWith('{')) process.stderr.write(`${line}\n`)
    })
    round.teardown(() => child.stop())
    const environment = { APP_LOG_LEVEL: 'info' }
    const { url } = await child.ask<{ url: string }>({ directory, database, environment })
    host = new WatchedHost(round, url, tokens)
    return host
  }

  /** @param time by `performance.now()` */
  hasWrittenSince(time: number): boolean {
    return this.shoppers.all.some(({ last }) => last > time)
  }

  async #watch(): Promise<void> {
    const status = async (path: string) => {
      const response = await fetch(`${this.url}${path}`)
      await response.arrayBuffer()
      return response.status
    }
    while (!this.#stopped) {
      try {
        const live = await status('/health/live')
        if (live !== 200) this.#round.fail(`${this.url} reports ${live} on /health/live`)
        this.ready = (await status('/health/ready')) === 200
        this.wasReady &&= this.ready
      } catch (error) {
        this.#round.fail(`${this.url} does not respond: ${(error as Error).cause ?? error}`)
        return
      }
      await pause(10)
    }
  }
}
