import { Readable } from 'node:stream'
import { JsonError, readJson } from '@mortise/module-sdk/json'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type Form, formOf, mediaTypeOf } from './form-schema.ts'
import { hostProblems, invalidRequest } from './problems.ts'
import { readForm } from './read-form.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parts of a body that is a form. */
    form?: Form
  }
  interface FastifyRequest {
    [kBytes]: Buffer | readonly Buffer[] | null
    [kOnRead]: ((bytes: number) => void) | null
  }
}

const kBytes = Symbol('bytes of the body')
const kOnRead = Symbol('what to do once the body has been read')

const nothing = Buffer.alloc(0)

/**
 * The body as sent, without the boundaries of a form; as parsed, if a parser of the module has read
 * it. Undefined for a body that has not been read as a whole, such as a stream.
 */
export function bytesOf(request: FastifyRequest): Buffer | readonly Buffer[] | undefined {
  const { [kBytes]: bytes, body, raw } = request
  if (bytes !== null) return bytes
  if (body === undefined || body === null) return isEmpty(raw.headers) ? nothing : undefined
  if (body instanceof Readable) return undefined
  if (Buffer.isBuffer(body)) return body
  try {
    return Buffer.from(JSON.stringify(body))
  } catch {
    return undefined
  }
}

/**
 * Registers a listener that gets the length of the body after it is read and before it is parsed.
 * An error that it throws becomes the response.
 */
export function onBodyRead(request: FastifyRequest, listener: (bytes: number) => void): void {
  request[kOnRead] = listener
}

/**
 * Bodies are JSON or empty, or forms on a route whose schema has a file. An empty body counts as
 * none, whatever its content type. A body without a schema in the route, or of another type, is
 * refused. A body is read as a whole, up to the limit of its route, before anything else happens.
 */
export const requestBodies = fp(
  async (app) => {
    app.removeAllContentTypeParsers()
    // Otherwise Fastify ignores the bodies of these methods.
    for (const method of ['GET', 'HEAD']) app.addHttpMethod(method, { hasBody: true, overrideExisting: true })
    app.decorateRequest(kBytes, null)
    app.decorateRequest(kOnRead, null)

    app.addHook('onRoute', (route) => {
      const form = formOf(route.schema?.body)
      if (form === undefined) return
      route.config = { ...(route.config as FastifyContextConfig), form }
      route.bodyLimit ??= form.bodyLimit
    })

    // Fastify looks for a parser even without a body to parse, and refuses what is no media type
    // before it reads the body, which may be empty.
    app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
      const { 'content-type': type } = headers
      if (type !== undefined && (isEmpty(headers) || !mediaType.test(type))) delete headers['content-type']
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
      const { 'content-type': type = 'a body without Content-Type' } = request.headers
      const { form } = request.routeOptions.config
      if (bytes.length === 0) {
        request[kBytes] = bytes
        done(null, undefined)
      } else if (form === undefined || !isMultipart(type)) done(unsupported(request, `not as ${type}`))
      else parseForm(request, bytes, form).then((body) => done(null, body), done)
    })
  },
  { name: 'request-bodies', fastify: '5.x' },
)

/** A `preValidation` hook: if all properties are optional, no body counts as `{}`. */
export function takeNoBody(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  if (request.body === undefined) request.body = {}
  done()
}

const mediaType = /^\s*[^\s/;]+\/[^\s/;]+/

const charsets = /;\s*charset\s*=\s*"?([^";\s]*)/gi

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  request[kBytes] = bytes
  if (bytes.length === 0) return undefined
  const { headers, routeOptions } = request
  for (const [, charset] of (headers['content-type'] as string).matchAll(charsets)) {
    if (charset && !/^utf-?8$/i.test(charset)) throw unsupported(request, `not in ${charset}`)
  }
  assertNotEncoded(request)
  if (routeOptions.config.form) throw unsupported(request, 'not as application/json')
  if (routeOptions.schema?.body === undefined) {
    throw invalidRequest('This route takes no body: send none.', [{ pointer: '', detail: 'must be empty' }])
  }
  return parseJsonBody(bytes)
}

const isMultipart = (type: string) => /^multipart\/form-data\s*(;|$)/i.test(type)

async function parseForm(request: FastifyRequest, bytes: Buffer, form: Form): Promise<unknown> {
  assertNotEncoded(request)
  const { body, sent } = await readForm(request.headers, bytes, form)
  request[kBytes] = sent
  return body
}

function assertNotEncoded(request: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = request.headers
  if (encoding !== 'identity') throw unsupported(request, `not encoded as ${encoding}`)
}

function isEmpty(headers: FastifyRequest['raw']['headers']): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return coding === undefined && length === '0'
}

function unsupported({ routeOptions }: FastifyRequest, what: string) {
  const right = mediaTypeOf(routeOptions.config.form)
  return hostProblems.create('unsupported-media-type', `Send the body as ${right} in UTF-8, ${what}.`)
}

/** @throws {Problem} `invalid-request`, with a pointer to the place */
export function parseJsonBody(bytes: Buffer): unknown {
  try {
    return readJson(bytes)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const { pointer, reason: detail } = error
    throw invalidRequest('The body cannot be read; see errors.', [{ pointer, detail }])
  }
}
