import { join } from 'node:path'
import type { Storage } from '@mortise/storage'
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { pino } from 'pino'
import type { Test } from 'tap'
import { accessRules } from '../../src/callers/access.ts'
import { callers } from '../../src/callers/callers.ts'
import { GuestCookie } from '../../src/callers/guest-cookie.ts'
import { Guests } from '../../src/callers/guests.ts'
import { mintToken } from '../../src/callers/mint-token.ts'
import { createTokenVerifier, type TokenVerifier } from '../../src/callers/token-verifier.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { conditionalRequests } from '../../src/http/conditional-requests.ts'
import { fastifyOptions } from '../../src/http/fastify-options.ts'
import { problemDetails } from '../../src/http/problem-details.ts'
import { requestBodies } from '../../src/http/request-body.ts'
import { securityHeaders } from '../../src/http/security-headers.ts'
import { unknownRoutes } from '../../src/http/unknown-routes.ts'
import { validation } from '../../src/http/validation.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { ClaimHandlers } from '../../src/requests/claim-handlers.ts'
import { idempotencyRoutes } from '../../src/requests/idempotency-routes.ts'
import { transaction } from '../../src/requests/transaction.ts'
import { guestRoutes } from '../../src/routes/guest-routes.ts'

export const issuer = 'urn:test:application'
export const secret = Buffer.alloc(32, 7)

export interface TestAppOptions {
  readonly routes: (app: FastifyInstance) => void
  readonly publicUrl?: string | undefined
  /** Those of CORS, which is not registered. */
  readonly origins?: readonly string[]
  readonly basePath?: string
  /** Runs each transaction twice, the first time undone. */
  readonly rehearse?: boolean
  /** With the host's own tables; without it, one of the test's own. */
  readonly storage?: Storage
  /** Without it nobody takes part in a claim. */
  readonly claims?: ClaimHandlers
  /** Without it the application's own tokens are verified. */
  readonly tokens?: TokenVerifier
}

/** A database of the host with nobody in it. */
export async function testStorage(t: Test, rehearse = false) {
  const storage = await openStorage({
    file: join(t.testdir(), 'app.db'),
    rehearse,
    onFatal: (error) => t.fail('the storage failed', { error: error.message }),
  })
  await storage.migrate([hostMigrations])
  t.teardown(() => storage.close())
  return storage
}

/**
 * The host's own plugins around `routes`, in the order of createHost, on a database of its own. `failures`
 * are the messages of the errors that got 500, and of warnings.
 */
export async function testApp(t: Test, options: TestAppOptions) {
  const { routes, publicUrl, basePath = '' } = options
  const storage = options.storage ?? (await testStorage(t, options.rehearse))
  const parts = {
    database: storage,
    tokens: options.tokens ?? createTokenVerifier({ issuers: [{ issuer, secret }] }),
    guests: new Guests(storage),
    cookie: new GuestCookie({ publicUrl, origins: options.origins }),
    claims: options.claims ?? new ClaimHandlers([]),
    basePath,
  }
  const failures: string[] = []
  const write = (line: string) => {
    const { err, msg } = JSON.parse(line)
    failures.push(err?.message ?? msg)
  }
  const logger = pino({ level: 'warn' }, { write })
  const app: FastifyInstance = fastify(fastifyOptions({ logger, trustProxy: [] }) as FastifyServerOptions)
  t.teardown(() => app.close())
  await app.register(securityHeaders, { publicUrl })
  await app.register(problemDetails)
  await app.register(unknownRoutes, { basePath: '' })
  await app.register(accessRules)
  await app.register(requestBodies)
  await app.register(validation)
  await app.register(callers, parts)
  await app.register(conditionalRequests)
  await app.register(transaction, parts)
  await app.register(
    async (api) => {
      await api.register(guestRoutes, parts)
      await api.register(idempotencyRoutes, parts)
      await api.register(async (scope) => routes(scope))
    },
    { prefix: basePath },
  )
  await app.ready()
  return { app, storage, failures }
}

export async function bearer(subject: string, scope?: string): Promise<string> {
  return `Bearer ${await mintToken({ issuer, secret, subject, scopes: scope?.split(' '), expiresIn: '1h' })}`
}

/** The cookies that a response sets, as `name=value; attributes`. */
export function setCookies(response: { headers: Record<string, unknown> }): string[] {
  return ([response.headers['set-cookie'] ?? []].flat() as string[]).filter(Boolean)
}
