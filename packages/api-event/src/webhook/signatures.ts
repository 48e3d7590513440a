import { createHmac, randomBytes } from 'node:crypto'

/** Something that deliveries are signed with. */
export interface Secret {
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string
  /** When it no longer is, in epoch milliseconds; null for the one that is handed out. */
  readonly until: number | null
}

const PREFIX = 'whsec_'

export const newSecret = (): Secret => ({
  secret: PREFIX + randomBytes(32).toString('base64'),
  until: null,
})

export const validAt = (secrets: readonly Secret[], now: number) =>
  secrets.filter(({ until }) => until === null || until > now)

/**
 * The headers of Standard Webhooks 1.0: one signature for each secret. By Node's own HMAC, since that of the
 * published library is JavaScript, and holds everything up for milliseconds where an event is a large one.
 */
export function signedHeaders(secrets: readonly Secret[], id: string, at: Date, body: string) {
  const seconds = Math.floor(at.getTime() / 1000)
  const signatures = secrets.map(({ secret }) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  }
}
