import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

/** Something that deliveries are signed with. */
export interface Secret {
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string
  /** When it no longer is, in epoch milliseconds; null for the one that is handed out. */
  readonly until: number | null
}

export const newSecret = (): Secret => ({
  secret: `whsec_${randomBytes(32).toString('base64')}`,
  until: null,
})

export const validAt = (secrets: readonly Secret[], now: number) =>
  secrets.filter(({ until }) => until === null || until > now)

/** The headers of Standard Webhooks 1.0: one signature for each secret. */
export function signedHeaders(secrets: readonly Secret[], id: string, at: Date, body: string) {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': secrets.map(({ secret }) => new Webhook(secret).sign(id, at, body)).join(' '),
  }
}
