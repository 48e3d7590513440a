import { createHmac, randomBytes } from 'node:crypto'

export interface Secret {
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string
  /** The end of its validity, in epoch milliseconds; null for the current one. */
  readonly until: number | null
}

const PREFIX = 'whsec_'

export const newSecret = (): Secret => ({
  secret: PREFIX + randomBytes(32).toString('base64'),
  until: null,
})

export const validAt = (secrets: readonly Secret[], now: number) =>
  secrets.filter(({ until }) => until === null || until > now)

/** Node's HMAC: the published library blocks for milliseconds on a large event. */
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
