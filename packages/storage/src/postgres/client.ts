import type { EventEmitter } from 'node:events'
import type { Client } from 'pg'
import { type Begun, beginSession, type SessionSettings } from './session-settings.ts'

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

interface Wishes {
  readonly settings: SessionSettings
  /** For connecting, and for each response, in milliseconds. */
  readonly timeout: number
  readonly requiresChannelBinding: boolean
}

/** @throws {Error} if the server is unreachable, untrusted, a standby, or not set up for an application */
export async function connect(client: Client, wishes: Wishes): Promise<Begun> {
  const { settings, timeout, requiresChannelBinding } = wishes
  const assertBound = requiresChannelBinding ? requireChannelBinding(client) : undefined
  try {
    await client.connect()
    assertBound?.()
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    if (!UNTRUSTED.test(code ?? '')) throw error
    const reason = `its certificate has an unknown issuer (${message}): set sslrootcert`
    throw new Error(reason, { cause: error })
  }
  try {
    return await beginSession(client, settings, timeout)
  } catch (error) {
    hangUp(client)
    throw error
  }
}

/**
 * The driver only prefers it: ends the connection before a password is sent without it.
 * @returns throws if a server asked for no password
 */
function requireChannelBinding(client: Client): () => void {
  const connection = client.connection as unknown as NodeJS.EventEmitter
  const reason = 'channel_binding=require, and the server does not offer SCRAM-SHA-256-PLUS'
  const refuse = () => cut(client, new Error(reason))
  let isBound = false
  connection.on('authenticationSASL', ({ mechanisms }: { readonly mechanisms: readonly string[] }) => {
    isBound = mechanisms.includes('SCRAM-SHA-256-PLUS')
    if (!isBound) refuse()
  })
  for (const other of ['authenticationCleartextPassword', 'authenticationMD5Password'])
    connection.on(other, refuse)
  return () => {
    if (isBound) return
    refuse()
    throw new Error(reason)
  }
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
