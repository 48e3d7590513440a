import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'

/** The pause before the next connection after a broken or failed one, in milliseconds. */
const PAUSE_MS = 1_000

/**
 * Listens on one channel. Notifications without a connection are missed.
 * @param connect makes a connection for exclusive use
 * @returns a function that ends it
 */
export function listen(
  connect: () => Promise<Client>,
  channel: string,
  hear: (payload: string | undefined) => void,
): () => Promise<void> {
  const closed = new AbortController()
  const { signal } = closed
  let client: Client | undefined
  const listening = (async () => {
    while (!signal.aborted) {
      try {
        client = await connect()
        const ended = once(client, 'end')
        if (signal.aborted) await client.end()
        client.on('notification', ({ payload }) => hear(payload))
        await client.query(`LISTEN ${channel}`)
        await ended
      } catch {
        // Other calls to the server report why it is unreachable.
      }
      client = undefined
      await pause(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  })()
  return async () => {
    closed.abort()
    await client?.end().catch(() => {})
    await listening
  }
}
