import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type Form, formOf, mediaTypeOf } from './form-schema.ts'
import { pointerTo } from './invalid-parts.ts'
import { keepsValue } from './keeps-value.ts'
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

/** Far deeper than any valid request; recursive code is safe below it. */
const MAX_DEPTH = 100

/**
 * Parses a JSON body (RFC 8259) and refuses what JSON.parse repairs silently: invalid UTF-8,
 * duplicate keys, `__proto__`, lone surrogates, numbers that it rounds to an integer. Also refuses NUL, which PostgreSQL cannot store.
 *
 * @throws {Problem} `invalid-request`, with a pointer to the place
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('', 'must be UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1]
    throw invalid('', position ? `must be JSON: it is not at position ${position}` : 'must be JSON')
  }
  return refuseAmbiguous(text).hasEscapedKey ? buildJson(text) : value
}

const [QUOTE, COMMA, OBJECT, OBJECT_END, ARRAY, ARRAY_END] = Buffer.from('",{}[]')
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const endOfNumber = /[^-+.\deE]|$/g

/** An open object or array of the scan. */
interface Level {
  /** The keys so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  /** The current key or index. */
  at: string | number
  expectsKey: boolean
}

/** `text` must be valid JSON. Iterative, because the client chooses the depth. */
function refuseAmbiguous(text: string): { readonly hasEscapedKey: boolean } {
  const levels: Level[] = []
  // Of UTF-8 only an escape can be a lone surrogate or NUL.
  const hasEscapes = text.includes('\\')
  let hasEscapedKey = false
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character === QUOTE) {
      const end = hasEscapes ? endOfString(text, index) : text.indexOf('"', index + 1) + 1
      const level = levels.at(-1)
      if (level?.keys && level.expectsKey) {
        const key = decodeString(text.slice(index, end))
        readKey(key, level, level.keys, levels)
        hasEscapedKey ||= key.length !== end - index - 2
      } else if (hasEscapes) refuseUnstorable(decodeString(text.slice(index, end)), levels)
      index = end - 1
    } else if (character === COMMA) {
      const level = levels.at(-1)
      if (level?.keys) level.expectsKey = true
      else if (level) (level.at as number)++
    } else if (character === OBJECT || character === ARRAY) {
      if (levels.length === MAX_DEPTH) {
        throw invalid('', `must not be nested deeper than ${MAX_DEPTH} levels`)
      }
      const isObject = character === OBJECT
      levels.push({ keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject })
    } else if (character === OBJECT_END || character === ARRAY_END) levels.pop()
    else if (character === MINUS || (character >= ZERO && character <= NINE)) {
      endOfNumber.lastIndex = index
      const end = (endOfNumber.exec(text) as RegExpExecArray).index
      const literal = text.slice(index, end)
      if (!keepsValue(literal)) {
        throw invalid(
          pointerOf(levels),
          `must be a number that a double can hold: ${literal.slice(0, 40)} is not`,
        )
      }
      index = end - 1
    }
  }
  return { hasEscapedKey }
}

/** The end of the string literal that begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}

const decodeString = (literal: string): string =>
  literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)

function refuseUnstorable(text: string, levels: readonly Level[]): void {
  if (!text.isWellFormed()) throw invalid(pointerOf(levels), 'must not contain lone surrogates')
  if (text.includes('\0')) throw invalid(pointerOf(levels), 'must not contain NUL')
}

function readKey(key: string, level: Level, keys: Set<string>, levels: readonly Level[]): void {
  level.at = key
  level.expectsKey = false
  refuseUnstorable(key, levels)
  if (key === '__proto__') throw invalid(pointerOf(levels), 'is not a known field')
  if (keys.has(key)) throw invalid(pointerOf(levels), 'must be given once')
  keys.add(key)
}

const pointerOf = (levels: readonly Level[]) => pointerTo(levels.map(({ at }) => String(at)))

const invalid = (pointer: string, detail: string) =>
  invalidRequest('The body cannot be read; see errors.', [{ pointer, detail }])

const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/g

/**
 * Builds the value of `text`, valid JSON without duplicate keys, without JSON.parse for keys: V8
 * can confuse a key that ends in an escape with one that ends in a backslash (nodejs/node#63785).
 * Slower.
 */
export function buildJson(text: string): unknown {
  const root: unknown[] = []
  const levels: (unknown[] | Record<string, unknown>)[] = [root]
  let key: string | undefined
  for (const [token] of text.matchAll(tokens)) {
    const level = levels.at(-1)
    if (token === '}' || token === ']') levels.pop()
    else if (!Array.isArray(level) && key === undefined) key = JSON.parse(token)
    else {
      const value = token === '{' ? {} : token === '[' ? [] : JSON.parse(token)
      if (Array.isArray(level)) level.push(value)
      else if (level && key !== undefined) level[key] = value
      key = undefined
      if (token === '{' || token === '[') levels.push(value)
    }
  }
  return root[0]
}
