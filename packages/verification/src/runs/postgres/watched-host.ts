import { setTimeout as pause } from 'node:timers/promises'
import type { Writer } from './writer.ts'

/** Polls the health of a host. */
export class WatchedHost {
  readonly url: string
  readonly writers: readonly Writer[]
  readonly #watching: Promise<void>
  readonly #onFailure: (text: string) => void
  #stopped = false
  ready = true
  /** False if it was not ready since this was set. */
  wasReady = true
  /** Its log lines. */
  lines = 0

  constructor(url: string, writers: readonly Writer[], onFailure: (text: string) => void) {
    this.url = url
    this.writers = writers
    this.#onFailure = onFailure
    this.#watching = this.#watch()
  }

  /** @param time by `performance.now()` */
  hasWrittenSince(time: number): boolean {
    return this.writers.some(({ last }) => last > time)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#watching
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
        if (live !== 200) this.#onFailure(`${this.url} reports ${live} on /health/live`)
        this.ready = (await status('/health/ready')) === 200
        this.wasReady &&= this.ready
      } catch (error) {
        this.#onFailure(`${this.url} does not respond: ${(error as Error).cause ?? error}`)
        return
      }
      await pause(10)
    }
  }
}
