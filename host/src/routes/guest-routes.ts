import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type Database, Strict, Timestamp, timestamp } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { signInNeeded } from '../callers/bearer.ts'
import { type GuestOptions, guestOf } from '../callers/callers.ts'
import { compareNothing } from '../http/conditional-requests.ts'
import { hostProblems, invalidRequest } from '../http/problems.ts'
import { takeNoBody } from '../http/request-body.ts'
import type { ClaimHandlers } from '../requests/claim-handlers.ts'

export interface GuestRoutesOptions extends GuestOptions {
  readonly database: Database
  readonly claims: ClaimHandlers
}

const IssuedGuest = Type.Object(
  {
    token: Type.String({
      description: 'send it as Guest-Token; it is a secret, because it is all that a guest needs',
    }),
    expiresAt: Timestamp,
  },
  { title: 'IssuedGuest' },
)

const Claimed = Type.Object({ claimed: Type.Literal(true) }, { title: 'Claimed' })

/**
 * `POST /guest`: a guest token before the first write, so that the write can be retried safely.
 * `POST /guest/claim`: transfers a guest's data to the signed-in user.
 */
export const guestRoutes = fp<GuestRoutesOptions>(async (instance, options) => {
  const { database, guests, cookie } = options
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.post(
    '/guest',
    {
      // Invalid credentials are refused here as on every route.
      config: { access: 'caller', idempotencyKey: false },
      schema: {
        summary: 'Become a guest',
        body: Strict({}),
        response: { 201: IssuedGuest, ...hostProblems.responses('invalid-request', 'precondition-failed') },
      },
      onRequest: [
        compareNothing,
        (request, _reply, done) => {
          cookie.assertOwnSite(request)
          done()
        },
      ],
      preValidation: takeNoBody,
    },
    async (_request, reply) => {
      const guest = guests.create()
      const expires = await database.transaction(() => guests.store(guest))
      const token = guest.revealToken()
      cookie.write(reply, token)
      reply.code(201).header('cache-control', 'no-store')
      return { token, expiresAt: timestamp(expires) }
    },
  )
  app.post(
    '/guest/claim',
    {
      config: { access: 'caller', idempotencyKey: false },
      schema: {
        summary:
          'Transfer the data of the guest in the Guest-Token header or the cookie to the signed-in user',
        // Both at once: the user, and the guest to claim.
        security: [
          { bearer: [], guestToken: [] },
          { bearer: [], guestCookie: [] },
        ],
        headers: Type.Object({
          'Guest-Token': Type.Optional(
            Type.String({ description: 'the token of the guest, without the cookie' }),
          ),
        }),
        body: Strict({}),
        response: {
          200: Claimed,
          ...hostProblems.responses('invalid-request', 'guest-not-found', 'precondition-failed'),
        },
      },
      onRequest: [(request, _reply, done) => done(guestOf(request) && signInNeeded()), compareNothing],
      preValidation: takeNoBody,
    },
    async (request, reply) => {
      if (await claim(request, reply, options)) return { claimed: true as const }
      throw hostProblems.create('guest-not-found')
    },
  )
})

/** False if there is no such guest for the user to claim. */
async function claim(
  request: FastifyRequest,
  reply: FastifyReply,
  { database, guests, cookie, claims }: GuestRoutesOptions,
): Promise<boolean> {
  const ofCookie = cookie.read(request)
  const known = ofCookie.length > 1 ? await guests.findFirst(ofCookie) : undefined
  const token = request.headers['guest-token'] ?? known?.revealToken() ?? ofCookie[0]
  if (typeof token !== 'string') {
    throw invalidRequest(
      'The request names no guest; nothing was done. Send the Guest-Token header or the cookie of the guest.',
      [{ parameter: 'Guest-Token', detail: 'must be the token of a guest if the cookie is missing' }],
    )
  }
  const isOfCookie = ofCookie.includes(token)
  if (isOfCookie) cookie.assertOwnSite(request)
  const user = request.caller.id
  const found = await database.transaction(function* () {
    const guest = yield* guests.retire(token, user)
    if (guest?.now) yield* claims.transfer({ guest: guest.id, user })
    return guest !== undefined
  })
  // The cookie is useless now, whether its guest is claimed now, was claimed before or never existed.
  // With several cookies another one may be a guest's: they are cleared once none is.
  if (isOfCookie && known === undefined) cookie.clear(reply)
  return found
}
