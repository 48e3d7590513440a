import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'

/** How long after a connection has broken, or could not be made, another is tried, in milliseconds. */
const PAUSE_MS = 1_000

/** A connection that is told what is notified on one channel. What is notified while there is none is missed. */
export class Listener {
  readonly #closed = new AbortController()
  readonly #listening: Promise<void>
  #client: Client | undefined

  /** @param connect makes a connection that is the caller's alone */
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
        // Whoever asks the server something hears why it cannot be reached.
      }
      this.#client = undefined
      await pause(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
}
