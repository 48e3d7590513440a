import { Problem } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import * as errors from 'jose/errors'
import { decodeJwt } from 'jose/jwt/decode'
import { LRUCache } from 'lru-cache'
import { assertIssuers, type TokenIssuer } from '../config/token-issuer.ts'
import { invalidToken } from './bearer.ts'
import { issuerVerifier, type Verdict, type VerifyToken } from './jwt-verifier.ts'
import type { User } from './user.ts'

const TOKEN_LENGTH = 4096
/** Cache size in characters of verified tokens: some ten thousand tokens of usual length. */
const CACHE_SIZE = 8 * 1024 * 1024

/** Verifies each JWT once: a verified token costs a cache look-up until it expires. */
export interface TokenVerifier {
  /** Synchronous if cached. @throws {Problem} 401; 503 if keys are unavailable */
  verify(token: string): User | Promise<User>
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
    return new Map<unknown, VerifyToken>(
      configs.map((config) => [config.issuer, issuerVerifier(config, log)]),
    )
  }
  let verifiers = verifiersOf(issuers)

  // Caches valid tokens only, so made-up tokens take no memory.
  const verdicts = new LRUCache<string, Verdict>({
    maxSize: CACHE_SIZE,
    sizeCalculation: (_verdict, token) => token.length,
  })
  const running = new Map<string, Promise<User>>()

  async function check(token: string): Promise<User> {
    try {
      const used = verifiers
      const verify = used.get(decodeJwt(token).iss)
      if (!verify) throw invalidToken('its issuer is unknown')
      const verdict = await verify(token).catch(async (error) => {
        const isReplaced =
          error instanceof errors.JWSSignatureVerificationFailed && (await onWrongSignature())
        if (!isReplaced && used === verifiers) throw error
        return undefined
      })
      // With the keys of now.
      if (used !== verifiers || verdict === undefined) return await check(token)
      verdicts.set(token, verdict)
      return verdict.user
    } catch (error) {
      throw error instanceof Problem ? error : invalidToken(reasonOf(error), { cause: error })
    }
  }

  return {
    replace(configs) {
      verifiers = verifiersOf(configs)
      verdicts.clear()
    },
    verify(token) {
      const verdict = verdicts.get(token)
      // Does not ask its issuer, which may be unreachable.
      if (verdict && Date.now() >= verdict.expires) throw invalidToken('it has expired')
      if (verdict && performance.now() < verdict.until) return verdict.user
      if (token.length > TOKEN_LENGTH) throw invalidToken('it is longer than 4096 characters')
      // jose ignores spaces in base64, so one token could be written, and cached, in many ways.
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw invalidToken('it is not a well-formed JWT')
      const verification = running.get(token)
      if (verification) return verification
      const checking = check(token).finally(() => running.delete(token))
      running.set(token, checking)
      return checking
    },
  }
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
