import { randomBytes } from 'node:crypto'
import type { SignedIn } from '@mortise/module-sdk'
import { decodeJwt } from 'jose/jwt/decode'
import type { TokenVerifier } from './token-verifier.ts'
import { User } from './user.ts'

/** Tokens of issuers, and those that exist for one request of the application to itself. */
export class ActingTokens implements TokenVerifier {
  readonly #tokens: TokenVerifier
  readonly #acting = new Map<string, User>()

  constructor(tokens: TokenVerifier) {
    this.#tokens = tokens
  }

  verify(token: string): User | Promise<User> {
    return this.#acting.get(token) ?? this.#tokens.verify(token)
  }

  replace(...issuers: Parameters<TokenVerifier['replace']>): void {
    this.#tokens.replace(...issuers)
  }

  /** @throws {Problem} 401; 503 if keys are unavailable */
  async signIn(token: string): Promise<SignedIn> {
    const { id, scopes } = await this.#tokens.verify(token)
    const { iat, exp = 0 } = decodeJwt(token)
    return { id, scopes, issuedAt: iat === undefined ? undefined : iat * 1000, expiresAt: exp * 1000 }
  }

  /** @param send a request with the token, which no other request can have */
  async as<Result>(
    { id, scopes }: Pick<SignedIn, 'id' | 'scopes'>,
    send: (token: string) => Promise<Result>,
  ): Promise<Result> {
    const token = randomBytes(32).toString('base64url')
    this.#acting.set(token, User.of(id, scopes))
    try {
      return await send(token)
    } finally {
      this.#acting.delete(token)
    }
  }
}
