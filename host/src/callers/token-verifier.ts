import { assertIssuers, type TokenIssuer } from '@mortise/application'
import { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import * as errors from 'jose/errors'
import { decodeJwt } from 'jose/jwt/decode'
import { LRUCache } from 'lru-cache'
import { isBase64url } from './base64url.ts'
import { invalidToken } from './bearer.ts'
import { type IssuerVerifier, issuerVerifier, type Proof, type Verdict } from './jwt-verifier.ts'
import type { User } from './user.ts'

const TOKEN_LENGTH = 4096
/** Cache size in characters of verified tokens: some ten thousand tokens of usual length. */
const CACHE_SIZE = 8 * 1024 * 1024

/** Verifies each JWT once: a verified token costs a cache look-up until it expires. */
export interface TokenVerifier {
  /** Synchronous if cached. @throws {Problem} 401; 503 if keys are unavailable */
  verify(token: string): User | Promise<User>
  /** Of a link as well, for something that may outlive it: see `trusts`. @throws {Problem} */
  prove(token: string): Promise<Verdict>
  /**
   * Whether this host would still take a token that was verified so: its secret or key verifies, and
   * its issuer is configured as it was.
   * @param text `User.proof`
   * @throws {Problem} 503 if keys are unavailable
   */
  trusts(text: string): Promise<boolean>
  /** Calls `listener` after each `replace`. @returns what ends that */
  onReplace(listener: () => void): () => void
  /** Replaces the issuers. Tokens are verified again. @throws {TypeError} for an unsafe configuration */
  replace(issuers: readonly TokenIssuer[]): void
}

/**
 * Each issuer has keys of its own, and checks only the tokens that name it.
 * @param log logs issuers with unavailable keys
 * @param onWrongSignature may replace the issuers, because a key has changed; true if it did
 * @throws {TypeError} for an unsafe configuration
 */
export function createTokenVerifier({
  issuers,
  log,
  onWrongSignature = async () => false,
}: {
  issuers: readonly TokenIssuer[]
  log?: FastifyBaseLogger
  onWrongSignature?: () => Promise<boolean>
}): TokenVerifier {
  const verifiersOf = (configs: readonly TokenIssuer[]) => {
    assertIssuers(configs)
    return new Map<unknown, IssuerVerifier>(
      configs.map((config) => [config.issuer, issuerVerifier(config, log)]),
    )
  }
  let verifiers = verifiersOf(issuers)

  // Caches valid tokens only, so made-up tokens take no memory.
  const verdicts = new LRUCache<string, Verdict>({
    maxSize: CACHE_SIZE,
    sizeCalculation: (_verdict, token) => token.length,
  })
  const running = new Map<string, Promise<Verdict>>()
  const listeners = new Set<() => void>()

  async function check(token: string): Promise<Verdict> {
    try {
      const used = verifiers
      const issuer = used.get(decodeJwt(token).iss)
      if (!issuer) throw invalidToken('its issuer is unknown')
      const verdict = await issuer.verify(token).catch(async (error) => {
        const isReplaced =
          error instanceof errors.JWSSignatureVerificationFailed && (await onWrongSignature())
        if (!isReplaced && used === verifiers) throw error
        return undefined
      })
      // With the keys of now.
      if (used !== verifiers || verdict === undefined) return await check(token)
      verdicts.set(token, verdict)
      return verdict
    } catch (error) {
      throw error instanceof Problem ? error : invalidToken(reasonOf(error), { cause: error })
    }
  }

  function verdictOf(token: string): Verdict | Promise<Verdict> {
    const verdict = verdicts.get(token)
    // Does not ask its issuer, which may be unreachable.
    if (verdict && Date.now() >= verdict.expires) throw invalidToken('it has expired')
    if (verdict && performance.now() < verdict.until) return verdict
    if (token.length > TOKEN_LENGTH) throw invalidToken('it is longer than 4096 characters')
    // jose ignores spaces and spare bits, so one token could be written in many ways.
    const parts = token.split('.')
    if (parts.length !== 3 || !parts.every(isBase64url)) throw invalidToken('it is not a well-formed JWT')
    const verification = running.get(token)
    if (verification) return verification
    const checking = check(token).finally(() => running.delete(token))
    running.set(token, checking)
    return checking
  }

  return {
    replace(configs) {
      verifiers = verifiersOf(configs)
      verdicts.clear()
      for (const listener of listeners) listener()
    },
    onReplace(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async trusts(text) {
      const proof: Proof = JSON.parse(text)
      const trusted = await verifiers.get(proof.issuer)?.trusts(proof)
      // As with a wrong signature: a new secret may have proved it.
      if (trusted !== false || proof.rules !== undefined || !(await onWrongSignature()))
        return trusted === true
      return (await verifiers.get(proof.issuer)?.trusts(proof)) === true
    },
    prove: async (token) => verdictOf(token),
    verify(token) {
      const verdict = verdictOf(token)
      return verdict instanceof Promise ? verdict.then(bearerOf) : bearerOf(verdict)
    },
  }
}

/** The user of a request with the token. @throws {Problem} for a token that is no bearer token */
function bearerOf({ user, isLink }: Verdict): User {
  if (isLink) throw invalidToken('it is a link, which only begins a session of the console')
  return user
}

/** jose's reason for a refusal. Its messages contain quotes, which a challenge may not. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return `its claim ${error.claim} is missing or wrong`
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its issuer does not use its algorithm'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  if (error instanceof errors.JWKSNoMatchingKey) return 'its issuer does not have its key'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it must name its key (kid)'
  if (error instanceof errors.JOSEError) return 'it is not a well-formed JWT'
  throw error
}
