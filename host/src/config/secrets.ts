// `.app/secret` has the secret that signs, and below it a line for each former one:
// `former <base64url> until <time>`. One file, so that one rename is the whole rotation: a crash
// leaves all of the old state or all of the new one.

/** A secret that signs nothing any more. */
export interface FormerSecret {
  readonly secret: Uint8Array
  /** Its tokens are valid before this time, in epoch milliseconds. */
  readonly until: number
}

export interface Secrets {
  /** Signs and verifies. */
  readonly secret: Uint8Array
  /** Newest first. */
  readonly formerSecrets: readonly FormerSecret[]
}

const formerLine = /^former ([\w-]+) until (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/

export function parseSecrets(text: string): Secrets {
  const lines = text.trim().split('\n')
  const formerSecrets: FormerSecret[] = []
  for (;;) {
    const [, secret, until] = formerLine.exec(lines.at(-1) ?? '') ?? []
    if (secret === undefined || until === undefined) break
    formerSecrets.unshift({ secret: Buffer.from(secret, 'base64url'), until: Date.parse(until) })
    lines.pop()
  }
  return { secret: Buffer.from(lines.join('\n').trim()), formerSecrets }
}

export function formatSecrets({ secret, formerSecrets }: Secrets): string {
  const lines = formerSecrets.map(
    (former) =>
      `former ${Buffer.from(former.secret).toString('base64url')} until ${new Date(former.until).toISOString()}`,
  )
  return `${[Buffer.from(secret).toString(), ...lines].join('\n')}\n`
}

/**
 * Puts a new secret in front. The present one verifies until `until`, and so do former ones that
 * were to verify for longer than now; with `now` as `until` none does. Ended ones are dropped but
 * for the newest, by which a host that was stopped meanwhile recognizes its own file.
 */
export function rotated(
  { secret, formerSecrets }: Secrets,
  next: Uint8Array,
  until: number,
  now: number,
): Secrets {
  const former = formerSecrets.map((one) => ({ ...one, until: Math.min(one.until, Math.max(until, now)) }))
  return {
    secret: next,
    formerSecrets: [{ secret, until }, ...former.filter((one) => one.until > now)],
  }
}
