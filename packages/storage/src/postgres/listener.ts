import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'

/** The pause before the next connection after a broken or failed one, in milliseconds. */
const PAUSE_MS = 1_000

/** A connection that listens on one channel. Notifications without a connection are missed. */
export class Listener {
  readonly #closed = new AbortController()
  readonly #listening: Promise<void>
  #client: Client | undefined

  /** @param connect makes a connection for exclusive use */
  constructor(connect: () => Promise<Client>, channel: string, hear: (payload: string | undefined) => void) {
    this.#listening = this.#listen(connect, channel, hear)
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#client?.end().catch(() => {})
    await this.#listening
  }

  async #listen(
    connect: () => Promise<Client>,
    channel: string,
    hear: (payload: string | undefined) => void,
  ): Promise<void> {
    const { signal } = this.#closed
    while (!signal.aborted) {
      try {
        const client = await connect()
        this.#client = client
        const ended = once(client, 'end')
        if (signal.aborted) await client.end()
        client.on('notification', ({ payload }) => hear(payload))
        await client.query(`LISTEN ${channel}`)
        await ended
      } catch {
        // Other calls to the server report why it is unreachable.
      }
      this.#client = undefined
      await pause(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
