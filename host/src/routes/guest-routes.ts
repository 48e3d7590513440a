import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type Database, Strict, Timestamp, timestamp } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import type { GuestCookie } from '../callers/guest-cookie.ts'
import type { Guests } from '../callers/guests.ts'
import { compareNothing } from '../http/conditional-requests.ts'
import { takeNoKey } from '../http/idempotency-key.ts'
import { hostProblems } from '../http/problems.ts'
import { takeNoBody } from '../http/request-body.ts'

export interface GuestRoutesOptions {
  readonly database: Database
  readonly guests: Guests
  readonly cookie: GuestCookie
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

/** `POST /guest`: a guest token before the first write, so that the write can be retried safely. */
export const guestRoutes = fp<GuestRoutesOptions>(async (instance, { database, guests, cookie }) => {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.post(
    '/guest',
    {
      // Invalid credentials are refused here as on every route.
      config: { access: 'caller' },
      schema: {
        summary: 'Become a guest',
        body: Strict({}),
        response: { 201: IssuedGuest, ...hostProblems.responses('invalid-request', 'precondition-failed') },
      },
      onRequest: [
        takeNoKey,
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
})
