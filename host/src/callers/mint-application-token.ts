import { ownIssuer, readConfig, secretFile } from '../config/config.ts'
import { assertOwnSecret, readIdentity } from '../config/identity.ts'
import { ConfigError, type Environment } from '../config/settings.ts'
import type { OwnIssuer } from '../config/token-issuer.ts'
import { mintToken, type TokenToMint } from './mint-token.ts'

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
