import type { EventEmitter } from 'node:events'
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

/** Node's codes for a certificate of an unknown authority. */
const UNTRUSTED = /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_.*)$/

/** @throws {Error} if the server is unreachable, untrusted or a standby */
export async function connect(client: Client, timeout: number): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (!UNTRUSTED.test(code ?? '')) throw error
    const reason = `its certificate has an unknown issuer (${message}): set sslrootcert`
    throw new Error(reason, { cause: error })
  }
  try {
    await assertWritable(client, timeout)
  } catch (error) {
    hangUp(client)
    throw error
  }
}

/** @throws {Error} for a standby: it accepts no writes, and its data may be stale */
async function assertWritable(client: Client, timeout: number): Promise<void> {
  const question = { text: 'SELECT pg_is_in_recovery()::int AS standby', query_timeout: timeout }
  const { rows } = await client.query(question)
  if (rows[0].standby === 1) throw new Error('it is a read-only standby: use the primary')
}

const changed = new WeakSet<Client>()

/**
 * From now on notices each setting of the session that the server reports as changed: the time zone,
 * the role, read-only, from PostgreSQL 18 on the search path.
 */
export function watchSession(client: Client): void {
  const connection: EventEmitter = client.connection
  connection.on('parameterStatus', () => changed.add(client))
}

/** Whether a statement has changed a setting, so that the next user must get another connection. */
export const hasChangedSession = (client: Client) => changed.has(client)

/** Sends what follows in this turn in one write, which is most of a short statement's cost. */
export function sendTogether({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
