import type { Transaction } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { entityTag, hasStrongTag, hasTag, hasVersion, isResource } from './entity-tag.ts'
import { isRead } from './is-read.ts'
import { hostProblems } from './problems.ts'
import { serialize } from './serialize.ts'

declare module 'fastify' {
  interface FastifyRequest {
    [kCompared]: boolean
  }
}

const kCompared = Symbol('whether If-Match was compared')

/** Conditional requests (RFC 9110, 13): an `ETag` and 304 for every GET of one resource, and `If-Match` of a write. */
export const conditionalRequests = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      if (!request.is404 && !isRead(request.method) && request.headers['if-none-match'] !== undefined) {
        throw preconditionFailed(
          'No write compares If-None-Match; nothing was done. Send it without, or with the ETag that you have as If-Match.',
        )
      }
      done()
    })

    app.addHook('preSerialization', (request, reply, body, done) => {
      if (isRead(request.method) && reply.statusCode === 200) tag(request, reply, body)
      done(null, body)
    })

    app.decorateRequest(kCompared, false)
  },
  { name: 'conditional-requests', fastify: '5.x' },
)

/**
 * Looks at what a write would change: refuses a body that `attachValidation` has let through, and an If-Match that is
 * stale. What is not found comes first.
 *
 * @throws {Problem} what `find` of the route's `ifMatch` throws, that of the validation, `precondition-failed`
 */
export function* assertUnchanged(request: FastifyRequest): Transaction<void> {
  const { ifMatch } = request.routeOptions.config
  const { 'if-match': header } = request.headers
  const { validationError } = request
  if (ifMatch !== undefined && (header !== undefined || validationError !== undefined)) {
    const { id = '' } = request.params as { readonly id?: string }
    const found = yield* ifMatch.find(request.caller, id)
    if (header !== undefined && validationError === undefined) {
      if (!hasVersion(header, found)) {
        throw preconditionFailed(
          'It has changed since you got the ETag that If-Match names; nothing was done. Get it again, and decide anew.',
        )
      }
      request[kCompared] = true
    }
  }
  if (validationError !== undefined) throw validationError
}

/** Whether nothing is left to compare: there is no If-Match, or it was compared. */
export const isCompared = (request: FastifyRequest) =>
  request.headers['if-match'] === undefined || request[kCompared]

/** @throws {Problem} `precondition-failed` where a write has an If-Match that nobody has looked at */
export function assertCompared(request: FastifyRequest): void {
  if (isCompared(request)) return
  throw preconditionFailed(
    'What this request changes has no version that If-Match could be compared with; nothing was done. Send it without.',
  )
}

/** An `onRequest` hook of a write that changes nothing with a version. */
export function compareNothing(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  assertCompared(request)
  done()
}

/** @throws {Problem} `precondition-failed` where a read is to show what it would not (RFC 9110, 13.1.1) */
export function assertTagged(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  etag: unknown = reply.getHeader('etag'),
): void {
  const wanted = headers['if-match']
  if (wanted === undefined || wanted.trim() === '*') return
  if (typeof etag === 'string' && hasStrongTag(wanted, etag)) return
  // They are of what is not shown.
  reply.removeHeader('etag').removeHeader('link')
  throw preconditionFailed(
    'What is here does not have the ETag that If-Match names. Send the request without, and see what there is.',
  )
}

const preconditionFailed = (detail: string) => hostProblems.create('precondition-failed', detail)

function tag(request: FastifyRequest, reply: FastifyReply, body: unknown): void {
  if (!isResource(body) || reply.hasHeader('etag')) {
    assertTagged(request, reply)
    return
  }
  const text = serialize(reply, 200, body)
  const etag = entityTag(body, text)
  assertTagged(request, reply, etag)
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
