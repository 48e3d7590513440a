import { ownIssuer, readConfig, secretFile } from '../config/config.ts'
import { assertOwnSecret, readIdentity } from '../config/identity.ts'
import { ConfigError, type Environment } from '../config/settings.ts'
import { mintToken } from './mint-token.ts'

export interface ApplicationToken {
  readonly directory: string
  readonly subject: string
  /** Scopes separated by spaces. */
  readonly scope?: string | undefined
  /** A number and one of s, m, h, d, w, y: `15m`, `30d`. */
  readonly expiresIn: string
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
    `the application cannot sign tokens: it needs "auth.issuer" in its config and a secret in ${secretFile(token.directory)} or APP_SECRET`,
  )
}
