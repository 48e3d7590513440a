import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { parseJsonBody } from './json-body.ts'
import { hostProblems } from './problems.ts'

declare module 'fastify' {
  interface FastifyRequest {
    [kBytes]: Buffer | null
    [kOnRead]: ((bytes: number) => void) | null
  }
}

const kBytes = Symbol('bytes of the body')
const kOnRead = Symbol('what to do once the body has been read')

/** The body as it was sent; null for an empty one. */
export const bytesOf = (request: FastifyRequest): Buffer | null => request[kBytes]

/** Calls with the length of the body once it has been read, and before it is looked at; what that throws is the answer. */
export function onBodyRead(request: FastifyRequest, listener: (bytes: number) => void): void {
  request[kOnRead] = listener
}

/**
 * Bodies are JSON or nothing. An empty one is none, whatever the content type says; one that the route has
 * no schema for, or of another type, is refused.
 */
export const requestBodies = fp(
  async (app) => {
    app.removeAllContentTypeParsers()
    // Fastify looks at no body of these otherwise.
    for (const method of ['GET', 'HEAD']) app.addHttpMethod(method, { hasBody: true, overrideExisting: true })
    app.decorateRequest(kBytes, null)
    app.decorateRequest(kOnRead, null)

    // Fastify looks for a parser where there is nothing to parse.
    app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
      if (headers['content-type'] !== undefined && isEmpty(headers)) delete headers['content-type']
      done()
    })

    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
      try {
        request[kOnRead]?.(bytes.length)
        done(null, parse(request, bytes))
      } catch (error) {
        done(error as Error)
      }
    })
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
      request[kOnRead]?.(bytes.length)
      if (bytes.length === 0) done(null, undefined)
      else done(unsupported(`not as ${request.headers['content-type'] ?? 'a body without Content-Type'}`))
    })
  },
  { name: 'request-bodies', fastify: '5.x' },
)

/** A `preValidation` hook: where there is nothing to send, sending nothing is as good as `{}`. */
export function takeNoBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.body === undefined) request.body = {}
  done()
}

const charsets = /;\s*charset\s*=\s*"?([^";\s]*)/gi

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const { headers, routeOptions } = request
  for (const [, charset] of (headers['content-type'] as string).matchAll(charsets)) {
    if (charset && !/^utf-?8$/i.test(charset)) throw unsupported(`not in ${charset}`)
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') throw unsupported(`not encoded as ${encoding}`)
  if (routeOptions.schema?.body === undefined) {
    throw hostProblems.create('invalid-request', 'This route takes no body; send none.', {
      members: { errors: [{ pointer: '', detail: 'must be empty' }] },
    })
  }
  request[kBytes] = bytes
  return parseJsonBody(bytes)
}

function isEmpty(headers: FastifyRequest['raw']['headers']): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding === undefined && (length === undefined || length === '0')
}

function unsupported(what: string) {
  return hostProblems.create('unsupported-media-type', `Send the body as application/json in UTF-8, ${what}.`)
}
