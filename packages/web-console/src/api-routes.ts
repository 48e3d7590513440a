import { callFor, type ModuleInstance } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { assertFromPage } from './from-page.ts'
import { responses } from './module.ts'
import type { Parts } from './session-routes.ts'

/** Beside what is about the client: see `callFor`. */
const REQUEST_HEADERS = [
  'accept-encoding',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'prefer',
]
const RESPONSE_HEADERS = [
  'content-encoding',
  'content-type',
  'deprecation',
  'etag',
  'idempotent-replayed',
  'link',
  'location',
  'retry-after',
  'sunset',
  'vary',
  'www-authenticate',
]

/** The application's own API, below /console/api, as the user of the session. */
export function apiRoutes(app: ModuleInstance, { sessions, operator, rights }: Parts): void {
  const within = `${app.prefix}/console/api`
  const whatever = Type.Unsafe({ description: 'what the route sends', content: {} })
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
    app.route({
      method,
      url: '/console/api/*',
      config: { access: 'public' },
      schema: {
        hide: true,
        summary: 'A route of the application',
        params: Type.Object({ '*': Type.String() }),
        querystring: Type.Object({}, { additionalProperties: true }),
        ...(method !== 'GET' && { body: Type.Unknown() }),
        response: {
          '2xx': whatever,
          '3xx': whatever,
          ...responses('not-signed-in', 'foreign-request', 'insufficient-scope'),
          '4xx': whatever,
          '5xx': whatever,
        },
      },
      handler: async (request, reply) => {
        if (method !== 'GET') assertFromPage(request)
        const session = await sessions.of(request)
        if (method !== 'GET') rights.assertAdmin(session)
        const headers = REQUEST_HEADERS.flatMap((name) => {
          const value = request.headers[name]
          return typeof value === 'string' ? [[name, value] as const] : []
        })
        const call = callFor(request, {
          method,
          // Another spelling of the prefix is not cut off, and so refused.
          path: request.url.startsWith(within) ? request.url.slice(within.length) : '',
          // Never a stream, which would not end.
          headers: { ...Object.fromEntries(headers), accept: 'application/json' },
          body: request.body === undefined ? undefined : JSON.stringify(request.body),
        })
        const response = await operator.call(session.user, call)
        for (const name of RESPONSE_HEADERS) {
          const value = response.headers[name]
          if (value !== undefined) reply.header(name, value)
        }
        reply.header('cache-control', 'no-store').code(response.statusCode)
        return reply.send(response.rawPayload.length === 0 ? undefined : response.rawPayload)
      },
    })
}
