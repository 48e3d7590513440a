import type { Client } from 'pg'

/** How long a server may take to close a connection, in milliseconds. */
const PATIENCE_MS = 1_000

/** Closes an idle connection; cuts it if the server does not close it in time. */
export async function hangUp(client: Client): Promise<void> {
  const timer = setTimeout(() => cut(client), PATIENCE_MS)
  await client.end().catch(() => {})
  clearTimeout(timer)
}

/** Breaks a connection: its pending queries fail. */
export function cut(client: Client, error?: Error): void {
  client.connection.stream.destroy(error)
}
