import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type Database, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { signInNeeded } from '../callers/bearer.ts'
import { type GuestOptions, guestOf } from '../callers/callers.ts'
import { compareNothing } from '../http/conditional-requests.ts'
import { takeNoKey } from '../http/idempotency-key.ts'
import { hostProblems } from '../http/problems.ts'
import { takeNoBody } from '../http/request-body.ts'
import type { ClaimHandlers } from '../requests/claim-handlers.ts'

export interface ClaimRouteOptions extends GuestOptions {
  readonly database: Database
  readonly claims: ClaimHandlers
}

const Claimed = Type.Object({ claimed: Type.Literal(true) }, { title: 'Claimed' })

/** `POST /guest/claim`: transfers a guest's data to the signed-in user. */
export const claimRoute = fp<ClaimRouteOptions>(async (instance, { database, guests, cookie, claims }) => {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.post(
    '/guest/claim',
    {
      config: { access: 'caller' },
      schema: {
        summary:
          'Transfer the data of the guest in the Guest-Token header or the cookie to the signed-in user',
        // Both at once: the user, and the guest to claim.
        security: [
          { bearer: [], guestToken: [] },
          { bearer: [], guestCookie: [] },
        ],
        body: Strict({}),
        response: {
          200: Claimed,
          ...hostProblems.responses('invalid-request', 'guest-not-found', 'precondition-failed'),
        },
      },
      onRequest: [
        (request, _reply, done) => done(guestOf(request) && signInNeeded()),
        takeNoKey,
        compareNothing,
      ],
      preValidation: takeNoBody,
    },
    async (request, reply) => {
      const ofCookie = cookie.read(request)
      const known = ofCookie.length > 1 ? await guests.findFirst(ofCookie) : undefined
      const token = request.headers['guest-token'] ?? known?.revealToken() ?? ofCookie[0]
      if (typeof token !== 'string') throw noToken()
      const isOfCookie = ofCookie.includes(token)
      if (isOfCookie) cookie.assertOwnSite(request)
      const user = request.caller.id
      const found = await database.transaction(function* () {
        const guest = yield* guests.retire(token, user)
        if (guest?.now) yield* claims.transfer({ guest: guest.id, user })
        return guest !== undefined
      })
      // The cookie is useless now, whether its guest is claimed now, was claimed before or never
      // existed. With several cookies another one may be a guest's: they are cleared once none
      // is.
      if (isOfCookie && known === undefined) cookie.clear(reply)
      if (!found) throw guestNotFound()
      return { claimed: true as const }
    },
  )
})

function noToken() {
  return hostProblems.create(
    'invalid-request',
    'The request names no guest; nothing was done. Send the Guest-Token header or the cookie of the guest.',
    {
      members: {
        errors: [
          { parameter: 'Guest-Token', detail: 'must be the token of a guest if the cookie is missing' },
        ],
      },
    },
  )
}

function guestNotFound() {
  return hostProblems.create(
    'guest-not-found',
    'You cannot claim a guest with this token: the token is unknown or expired, or another user claimed the guest.',
  )
}
