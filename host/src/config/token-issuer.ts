/** The application itself, which signs with its own secret (HS256). */
export interface OwnIssuer {
  /** The exact `iss` of its tokens, as for every issuer. */
  readonly issuer: string
  /** At least 32 bytes. */
  readonly secret: Uint8Array
}

/** Another issuer, which publishes its keys. */
export interface RemoteIssuer {
  readonly issuer: string
  /** The URL of its keys; without it, its OpenID configuration names it. */
  readonly jwksUri?: string
  /** The `aud` of its tokens for this application. */
  readonly audience: string
  readonly algorithms: readonly SigningAlgorithm[]
  /** The required `typ` of its tokens. */
  readonly typ?: string
  /** Subject and scope: the name of a claim, or a JSON Pointer (RFC 6901) into the claims. */
  readonly claims?: { readonly subject?: string; readonly scope?: string }
  /** The scopes for each value of the issuer; other values stand for none. */
  readonly scopes?: Readonly<Record<string, readonly string[]>>
}

export type TokenIssuer = OwnIssuer | RemoteIssuer

/** Asymmetric only: the published key would otherwise be the secret. */
export const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

// With a subject of 255 characters, a user's id then stays within the 1,024 that the SDK promises.
const ISSUER_LENGTH = 500

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Without https (http on loopback) the keys could be forged on the way. */
export function isKeyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && loopback.has(hostname))
}

/** @throws {TypeError} with a message that may follow the name of a setting */
export function assertIssuers(issuers: readonly (TokenIssuer | Pick<OwnIssuer, 'issuer'>)[]): void {
  const names = new Set<string>()
  for (const config of issuers) {
    const { issuer } = config
    assertName(issuer)
    if (names.has(issuer)) throw new TypeError(`must have each issuer once: "${issuer}" is configured twice`)
    names.add(issuer)
    if ('audience' in config) assertRemote(config)
  }
}

function assertName(issuer: string): void {
  if (issuer !== '' && encodeURIComponent(issuer).length <= ISSUER_LENGTH) return
  throw new TypeError(
    `must have names of 1 to ${ISSUER_LENGTH} URL-encoded characters, and "${issuer}" has not`,
  )
}

function assertRemote({ issuer, jwksUri, audience, algorithms, claims, scopes }: RemoteIssuer): void {
  const wrong = (reason: string) => new TypeError(`must be safe: "${issuer}" ${reason}`)
  if (algorithms.length === 0 || !algorithms.every((name) => signingAlgorithms.includes(name)))
    throw wrong(`needs algorithms, each of them one of ${signingAlgorithms.join(', ')}`)
  if (!audience) throw wrong('has no audience: name the aud of its tokens')
  if (jwksUri === undefined && (!isKeyUrl(issuer) || /[?#]/.test(issuer)))
    throw wrong('needs a "jwksUri", because it is not an https URL whose metadata could be read')
  if (jwksUri !== undefined && !isKeyUrl(jwksUri))
    throw wrong(`has the jwksUri ${jwksUri}, where anybody on the way could forge keys: use https`)
  if (claims?.scope !== undefined && scopes === undefined)
    throw wrong(
      `needs "scopes", because the values in its claim ${claims.scope} are the issuer's own words: say what they stand for`,
    )
}
