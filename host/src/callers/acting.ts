import { randomBytes } from 'node:crypto'
import type { SignedIn } from '@mortise/module-sdk'
import { decodeJwt } from 'jose/jwt/decode'
import type { Verdict } from './jwt-verifier.ts'
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

  prove(token: string): Promise<Verdict> {
    return this.#tokens.prove(token)
  }

  trusts(proof: string): Promise<boolean> {
    return this.#tokens.trusts(proof)
  }

  onReplace(listener: () => void): () => void {
    return this.#tokens.onReplace(listener)
  }

  /** @throws {Problem} 401; 503 if keys are unavailable */
  async signIn(token: string): Promise<SignedIn> {
    const { user, expires } = await this.#tokens.prove(token)
    const { iat, jti } = decodeJwt(token)
    return {
      id: user.id,
      scopes: user.scopes,
      tokenId: jti,
      issuedAt: iat === undefined ? undefined : iat * 1000,
      expiresAt: expires,
      proof: user.proof,
    }
  }

  /** @param send a request with the token, which no other request can have */
  async as<Result>(
    { id, scopes, proof }: Pick<SignedIn, 'id' | 'scopes' | 'proof'>,
    send: (token: string) => Promise<Result>,
  ): Promise<Result> {
    const token = randomBytes(32).toString('base64url')
    this.#acting.set(token, User.of(id, scopes, proof))
    try {
      return await send(token)
    } finally {
      this.#acting.delete(token)
    }
  }
}
