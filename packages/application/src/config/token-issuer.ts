import { type Static, Type } from '@sinclair/typebox'
import type { PreviousSecret } from './secrets.ts'

/** The application itself, which signs with its own secret (HS256). */
export interface OwnIssuer {
  /** The exact `iss` of its tokens, as for every issuer. */
  readonly issuer: string
  /** At least 32 bytes. */
  readonly secret: Uint8Array
  /** Verify until their time, after a rotation. */
  readonly previousSecrets?: readonly PreviousSecret[] | undefined
}

/** Asymmetric only: the published key would otherwise be the secret. */
export const signingAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

export const optionalText = (format: string, description: string) =>
  Type.Optional(Type.String({ format, description }))

/** Another issuer, which publishes its keys. */
export const RemoteIssuer = Type.Object(
  {
    issuer: Type.String({ format: 'no-blanks', description: 'the exact `iss` of its tokens' }),
    jwksUri: optionalText(
      'jwks-uri',
      'the URL of its keys: https (http on loopback); by default from its OpenID configuration',
    ),
    audience: Type.String({ minLength: 1, description: 'the `aud` of its tokens for this application' }),
    algorithms: Type.Array(Type.Unsafe<SigningAlgorithm>({ type: 'string', enum: signingAlgorithms }), {
      minItems: 1,
      uniqueItems: true,
      default: ['RS256'],
      description: 'its signing algorithms; no other is accepted',
      examples: [['ES256']],
    }),
    typ: optionalText('no-blanks', 'the only allowed `typ` of its tokens: "at+jwt"'),
    claims: Type.Optional(
      Type.Object(
        {
          subject: optionalText('claim', 'the claim with the subject, instead of `sub`'),
          scope: optionalText('claim', 'the claim with the values that "scopes" maps'),
        },
        { additionalProperties: false },
      ),
    ),
    scopes: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Array(Type.String({ format: 'scope' }), { examples: [['purchase:read']] }),
        {
          description: 'maps each value of the issuer to scopes; other values give none',
          examples: [{ 'shop-staff': ['purchase:read'] }],
        },
      ),
    ),
  },
  { additionalProperties: false },
)
export type RemoteIssuer = Static<typeof RemoteIssuer>

export type TokenIssuer = OwnIssuer | RemoteIssuer

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
    if (issuer === '' || encodeURIComponent(issuer).length > ISSUER_LENGTH)
      throw new TypeError(
        `must have names of 1 to ${ISSUER_LENGTH} URL-encoded characters, and "${issuer}" has not`,
      )
    if (names.has(issuer)) throw new TypeError(`must have each issuer once: "${issuer}" is configured twice`)
    names.add(issuer)
    if ('audience' in config) assertRemote(config)
  }
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
