import { hash } from 'node:crypto'
import type { Transaction, Versioned } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { hostProblems } from './problems.ts'
import { isRead } from './request-head.ts'

declare module 'fastify' {
  interface FastifyRequest {
    [kCompared]: boolean
  }
}

const kCompared = Symbol('whether If-Match was compared')

/**
 * Conditional requests (RFC 9110, 13): `ETag` and 304 for every GET of one resource, and `If-Match`
 * for writes.
 */
export const conditionalRequests = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      if (!request.is404 && !isRead(request.method) && request.headers['if-none-match'] !== undefined) {
        throw preconditionFailed(
          'Writes do not support If-None-Match; nothing was done. Send the request without it, or send your ETag as If-Match.',
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
 * Checks the resource that a write would change: refuses a body that `attachValidation` let
 * through, and a stale If-Match. A missing resource takes precedence.
 *
 * @throws {Problem} errors of `find` of the route's `ifMatch`, validation errors,
 * `precondition-failed`
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
          'The resource has changed since you got the ETag in If-Match; nothing was done. Get the resource again, then decide.',
        )
      }
      request[kCompared] = true
    }
  }
  if (validationError !== undefined) throw validationError
}

/** True without If-Match, or after its comparison. */
export const isCompared = (request: FastifyRequest) =>
  request.headers['if-match'] === undefined || request[kCompared]

/** @throws {Problem} `precondition-failed` if a write has an If-Match that was not compared */
export function assertCompared(request: FastifyRequest): void {
  if (isCompared(request)) return
  throw preconditionFailed(
    'This request changes a resource without a version, so If-Match does not apply; nothing was done. Send the request without it.',
  )
}

/** An `onRequest` hook for a write that changes nothing with a version. */
export function compareNothing(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  assertCompared(request)
  done()
}

/**
 * @throws {Problem} `precondition-failed` if the resource does not match If-Match of a read (RFC
 * 9110, 13.1.1)
 */
export function assertTagged(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  etag: unknown = reply.getHeader('etag'),
): void {
  const wanted = headers['if-match']
  if (wanted === undefined || lists(wanted, ({ weak, opaque }) => !weak && etag === `"${opaque}"`)) return
  // These headers describe the resource, which the response does not show.
  reply.removeHeader('etag').removeHeader('link')
  throw preconditionFailed(
    'The resource does not have the ETag in If-Match. Send the request without it to see the present one.',
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
  reply.code(304).removeHeader('content-type').removeHeader('content-disposition')
  // The length of a HEAD response is that of the body; a 304 to GET has none.
  reply.serializer(() => (request.method === 'GET' ? (undefined as never) : text))
}

// A tag is `"<id>:<version>:<hash of the body>"`, without the first two for resources without a
// version. If-None-Match compares all of it, since it distinguishes bodies; If-Match compares id
// and version, since they identify what a write replaces. The hash is SHA-1, because every GET pays
// for it and it protects nothing.

/** Whether a body is one resource, not a list. */
export const isResource = (body: unknown): body is { id: unknown; version?: unknown } =>
  typeof body === 'object' && body !== null && 'id' in body

/** The strong entity tag of a resource whose body is `text`. */
export function entityTag(body: { id: unknown; version?: unknown }, text: string): string {
  const version = Number.isInteger(body.version) ? prefixOf(body as Versioned) : ''
  return `"${version}${hash('sha1', text, 'base64url')}"`
}

/** Whether `If-None-Match` has the tag, by weak comparison (RFC 9110, 13.1.2). */
export const hasTag = (header: string, tag: string) =>
  lists(header, ({ opaque }) => opaque === tag.slice(1, -1))

/** Whether `If-Match` has a strong tag of this version of the resource (RFC 9110, 13.1.1). */
function hasVersion(header: string, resource: Versioned): boolean {
  const prefix = prefixOf(resource)
  return lists(
    header,
    ({ weak, opaque }) => !weak && opaque.startsWith(prefix) && isHash.test(opaque.slice(prefix.length)),
  )
}

/** A SHA-1 in base64url, as `entityTag` writes it. */
const isHash = /^[\w-]{26}[AEIMQUYcgkosw048]$/

/** An encoded id contains no colon. */
const prefixOf = ({ id, version }: Versioned) => `${encodeURIComponent(id ?? '')}:${version}:`

/** Whether a header is `*` or has a tag that fits. */
function lists(header: string, fits: (tag: { weak: boolean; opaque: string }) => boolean): boolean {
  if (header.trim() === '*') return true
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].some(([, weak, opaque = '']) =>
    fits({ weak: weak !== undefined, opaque }),
  )
}

/**
 * Uses the route's serializer for the status, found the way Fastify finds it; plain JSON without
 * one.
 */
export function serialize(reply: FastifyReply, status: number, body: unknown): string {
  for (const key of [String(status), `${Math.trunc(status / 100)}xx`, 'default']) {
    const serializer = reply.getSerializationFunction(key)
    if (typeof serializer === 'function') return serializer(body as Record<string, unknown>)
  }
  return JSON.stringify(body)
}
