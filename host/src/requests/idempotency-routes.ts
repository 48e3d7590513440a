import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type Database, Nullable, Timestamp, timestamp } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { verifiedId } from '../callers/callers.ts'
import { findStored, isRunning } from './idempotency-records.ts'

const KeptResponse = Type.Object(
  {
    route: Type.String({ examples: ['POST /purchase'] }),
    status: Type.Integer({ description: 'the HTTP status of the stored response' }),
    location: Nullable(Type.String({ description: 'the path of the created resource' })),
    createdAt: Timestamp,
    expiresAt: Timestamp,
  },
  { title: 'KeptResponse' },
)

const IdempotencyKey = Type.Object(
  {
    key: Type.String(),
    state: Type.Unsafe<'unknown' | 'running' | 'done'>({
      type: 'string',
      enum: ['unknown', 'running', 'done'],
      description:
        'unknown: no request with this key has been done. In every state you may send the same request again',
    }),
    responses: Type.Array(KeptResponse, { description: 'one for each route that got the key' }),
  },
  { title: 'IdempotencyKey' },
)

/** The outcome of the caller's own requests with a key, without a repeat of them. */
export const idempotencyRoutes = fp<{ readonly database: Database }>(
  async (instance, { database }) => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    app.get(
      '/idempotency/:key',
      {
        config: { access: 'caller' },
        schema: {
          summary: 'Get the outcome of an Idempotency-Key',
          params: Type.Object({ key: Type.String({ description: 'the key, without quotes' }) }),
          response: { 200: IdempotencyKey },
        },
      },
      async (request) => {
        const { key } = request.params
        const caller = verifiedId(request)
        if (caller === undefined) return { key, state: 'unknown' as const, responses: [] }
        // The order matters: a request that was running at the first look and has finished since is
        // found.
        const running = await isRunning(database, caller, key)
        const kept = await database.snapshot(() => findStored(caller, key))
        return {
          key,
          state: kept.length > 0 ? ('done' as const) : running ? ('running' as const) : ('unknown' as const),
          responses: kept.map(({ createdAt, expiresAt, ...response }) => ({
            ...response,
            createdAt: timestamp(createdAt),
            expiresAt: timestamp(expiresAt),
          })),
        }
      },
    )
  },
  { name: 'idempotency-routes', fastify: '5.x', dependencies: ['callers'] },
)
