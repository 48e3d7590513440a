import type { Transaction } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { entityTag, hasTag, hasVersion, isResource } from './entity-tag.ts'
import { hostProblems } from './problems.ts'
import { serialize } from './serialize.ts'

declare module 'fastify' {
  interface FastifyRequest {
    [kCompared]: boolean
  }
}

const kCompared = Symbol('whether If-Match was compared')

/** Conditional requests (RFC 9110, 13): an `ETag` and 304 for every GET of one resource, and `request.ifMatch`. */
export const conditionalRequests = fp(
  async (app) => {
    app.addHook('preSerialization', (request, reply, body, done) => {
      if ((request.method === 'GET' || request.method === 'HEAD') && reply.statusCode === 200) {
        tag(request, reply, body)
      }
      done(null, body)
    })

    app.decorateRequest(kCompared, false)
    app.decorateRequest('ifMatch', function* (this: FastifyRequest, find): Transaction<void> {
      const header = this.headers['if-match']
      if (header === undefined) return
      if (!hasVersion(header, yield* find())) {
        throw hostProblems.create(
          'precondition-failed',
          'It has changed since you got the ETag that If-Match names; nothing was done. Get it again, and decide anew.',
        )
      }
      this[kCompared] = true
    })
  },
  { name: 'conditional-requests', fastify: '5.x' },
)

/** @throws {Problem} `precondition-failed` where a write has an If-Match that nobody has looked at */
export function assertCompared(request: FastifyRequest): void {
  if (request.headers['if-match'] === undefined || request[kCompared]) return
  throw hostProblems.create(
    'precondition-failed',
    'What this request changes has no version that If-Match could be compared with; nothing was done. Send it without.',
  )
}

function tag(request: FastifyRequest, reply: FastifyReply, body: unknown): void {
  if (!isResource(body) || reply.hasHeader('etag')) return
  const text = serialize(reply, 200, body)
  const etag = entityTag(body, text)
  reply.header('etag', etag)
  const known = request.headers['if-none-match']
  if (known === undefined || !hasTag(known, etag)) {
    reply.serializer(() => text)
    return
  }
  reply.code(304).removeHeader('content-type')
  // The length of a HEAD is that of the body; a 304 to GET has none.
  reply.serializer(() => (request.method === 'GET' ? (undefined as never) : text))
}
