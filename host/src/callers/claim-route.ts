import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type Database, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { hostProblems } from '../http/problems.ts'
import { takeNoBody } from '../http/request-bodies.ts'
import { signInNeeded } from './bearer.ts'
import { type GuestOptions, guestOf } from './callers.ts'
import type { Claims } from './claims.ts'

export interface ClaimRouteOptions extends GuestOptions {
  readonly database: Database
  readonly claims: Claims
}

const Claimed = Type.Object({ claimed: Type.Literal(true) }, { title: 'Claimed' })

/** `POST /guest/claim`: who has signed in takes over what they have had as a guest. */
export const claimRoute = fp<ClaimRouteOptions>(
  async (instance, { database, guests, cookie, claims }) => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    app.post(
      '/guest/claim',
      {
        config: { access: 'caller' },
        schema: {
          summary: 'Take over what a guest has: the one of the Guest-Token header, or of the cookie',
          body: Strict({}),
          response: { 200: Claimed, ...hostProblems.responses('invalid-request', 'guest-not-found') },
        },
        onRequest: (request, _reply, done) => done(guestOf(request) && signInNeeded()),
        preValidation: takeNoBody,
      },
      async (request, reply) => {
        const ofCookie = cookie.read(request)
        const token = request.headers['guest-token'] ?? ofCookie
        if (token === undefined) throw noToken()
        const user = request.caller.id
        // Without an answer kept under an Idempotency-Key: repeated, it is the same anyway.
        const found = await database.transaction(function* () {
          const guest = yield* guests.retire(String(token), user)
          if (guest?.now) yield* claims.handOver({ guest: guest.id, user })
          return guest !== undefined
        })
        // It is of no more use, whether it was claimed now, earlier, or never was a guest's.
        if (token === ofCookie) cookie.clear(reply)
        if (!found) throw guestNotFound()
        return { claimed: true as const }
      },
    )
  },
  { name: 'claim-route', fastify: '5.x', dependencies: ['callers'] },
)

function noToken() {
  return hostProblems.create(
    'invalid-request',
    'The request names no guest; nothing was done. Send the token of the guest as Guest-Token, or its cookie.',
    {
      members: {
        errors: [
          { parameter: 'Guest-Token', detail: 'must be the token of a guest, unless the cookie is sent' },
        ],
      },
    },
  )
}

function guestNotFound() {
  return hostProblems.create(
    'guest-not-found',
    'There is no guest with this token whom you could claim: it has expired, was claimed by somebody else, or never was.',
  )
}
