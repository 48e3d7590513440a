import { createHash } from 'node:crypto'

// `.app/secret` has the secret that signs, and below it a line for each previous one:
// `previous <base64url> until <time>`. One file, so that one rename is the whole rotation: a crash
// leaves all of the old state or all of the new one.

/** A secret that signs nothing any more. */
export interface PreviousSecret {
  readonly secret: Uint8Array
  /** Its tokens are valid before this time, in epoch milliseconds. */
  readonly until: number
}

export interface Secrets {
  /** Signs and verifies. */
  readonly secret: Uint8Array
  /** Newest first. */
  readonly previousSecrets: readonly PreviousSecret[]
}

const previousLine = /^previous ([\w-]+) until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/

export function parseSecrets(text: string): Secrets {
  const lines = text.trim().split('\n')
  const previousSecrets: PreviousSecret[] = []
  for (;;) {
    const [, secret, until] = previousLine.exec(lines.at(-1) ?? '') ?? []
    if (secret === undefined || until === undefined) break
    previousSecrets.unshift({ secret: Buffer.from(secret, 'base64url'), until: Date.parse(until) })
    lines.pop()
  }
  return { secret: Buffer.from(lines.join('\n').trim()), previousSecrets }
}

export function formatSecrets({ secret, previousSecrets }: Secrets): string {
  const lines = previousSecrets.map(
    (previous) =>
      `previous ${Buffer.from(previous.secret).toString('base64url')} until ${new Date(previous.until).toISOString()}`,
  )
  return `${[Buffer.from(secret).toString(), ...lines].join('\n')}\n`
}

/**
 * Puts a new secret in front. The present one verifies until `until`, and so do previous ones that
 * were to verify for longer than now; with `now` as `until` none does. Ended ones are dropped but
 * for the newest, by which a host that was stopped meanwhile recognizes its own file.
 */
export function rotated(
  { secret, previousSecrets }: Secrets,
  next: Uint8Array,
  until: number,
  now: number,
): Secrets {
  const previous = previousSecrets.map((one) => ({
    ...one,
    until: Math.min(one.until, Math.max(until, now)),
  }))
  return {
    secret: next,
    previousSecrets: [{ secret, until }, ...previous.filter((one) => one.until > now)],
  }
}

/** Names a secret without revealing it. */
export const fingerprintOf = (secret: Uint8Array): string =>
  createHash('sha256').update('mortise secret ').update(secret).digest('base64url')
