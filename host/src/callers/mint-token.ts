import { randomUUID } from 'node:crypto'
import type { OwnIssuer } from '@mortise/application'
import {
  assertOwnSecret,
  assertScopes,
  ConfigError,
  type Environment,
  ownIssuer,
  readConfig,
  readIdentity,
  secretFile,
} from '@mortise/application'
import { secondsOfLifetime } from './lifetime.ts'
import { isSubject, subjectRule } from './subject.ts'

export interface TokenToMint extends OwnIssuer {
  readonly subject: string
  readonly scopes?: readonly string[] | undefined
  /** A number and one of s, m, h, d, w, y: `15m`, `30d`. */
  readonly expiresIn: string
}

/** @throws {TypeError} that names the wrong value */
export async function mintToken({
  issuer,
  secret,
  subject,
  scopes,
  expiresIn,
}: TokenToMint): Promise<string> {
  if (!isSubject(subject)) throw new TypeError(`the subject must have ${subjectRule}`)
  if (scopes !== undefined) assertScopes(scopes)
  if (secondsOfLifetime(expiresIn) === undefined) {
    throw new TypeError(
      `"${expiresIn}" is not a lifetime: write a number and s, m, h, d, w or y, such as 30d`,
    )
  }
  const { SignJWT } = await import('jose/jwt/sign')
  return (
    new SignJWT(scopes === undefined ? {} : { scope: scopes.join(' ') })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(subject)
      // Two of the same second are not the same, nor are two one-time links.
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime(expiresIn)
      .sign(secret)
  )
}

export interface ApplicationToken extends Omit<TokenToMint, keyof OwnIssuer> {
  readonly directory: string
  readonly environment?: Environment | undefined
}

/**
 * Signs a JWT with the application's own secret.
 * @throws {IdentityError} if the secret differs from that of the last start
 * @throws {ConfigError} if there is no secret; TypeError for a wrong value
 */
export async function mintApplicationToken(token: ApplicationToken): Promise<string> {
  const config = await readConfig(token.directory, token.environment)
  assertOwnSecret(config, await readIdentity(token.directory))
  const own = ownIssuer(config)
  if (own) return mintToken({ ...own, ...token })
  throw new ConfigError(
    `the application cannot sign tokens: set "auth.issuer" in app.config.json, and write a secret into ${secretFile(token.directory)} or APP_SECRET`,
  )
}
