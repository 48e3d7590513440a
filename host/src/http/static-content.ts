import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { assertTagged, hasTag } from './conditional-requests.ts'

/** Shorter content gains nothing. */
const LEAST_COMPRESSED = 1024

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }
const codings = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, quality),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}
type Coding = keyof typeof codings

/**
 * Content that is the same for everybody, compressed as the client accepts it, once per coding and
 * off the event loop. Each coding is a representation with its own strong `ETag` (RFC 9110,
 * 8.8.3.3).
 */
export class StaticContent {
  readonly #bytes: Buffer
  readonly #headers: Readonly<Record<string, string>>
  readonly #hash: string
  readonly #compressible: boolean
  readonly #encoded = new Map<Coding, Promise<Buffer>>()

  constructor(bytes: Buffer, type: string, headers: Readonly<Record<string, string>> = {}) {
    this.#bytes = bytes
    this.#headers = { 'content-type': type, ...headers }
    this.#hash = hash('sha1', bytes, 'base64url')
    this.#compressible = bytes.length >= LEAST_COMPRESSED && !type.startsWith('image/')
  }

  /**
   * Returns the bytes to send, or nothing with 304 if `If-None-Match` matches; sets the response
   * headers.
   *
   * @throws {Problem} `precondition-failed` if `If-Match` does not match
   */
  async negotiate(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    const coding = this.#compressible ? preferred(request.headers['accept-encoding']) : undefined
    const etag = coding ? `"${this.#hash}-${coding}"` : `"${this.#hash}"`
    // CORS has already set `Origin`.
    if (this.#compressible)
      reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].flat().filter(Boolean).join(', '))
    // Precedes the headers that a problem does not have.
    assertTagged(request, reply, etag)
    reply.headers({ ...this.#headers, etag })
    const known = request.headers['if-none-match']
    if (known !== undefined && hasTag(known, etag)) {
      await reply.code(304).removeHeader('content-type').send()
      return undefined
    }
    if (coding === undefined) return this.#bytes
    reply.header('content-encoding', coding)
    return this.#in(coding)
  }

  #in(coding: Coding): Promise<Buffer> {
    const encoded = this.#encoded.get(coding) ?? codings[coding](this.#bytes)
    this.#encoded.set(coding, encoded)
    return encoded
  }
}

/**
 * The coding that `Accept-Encoding` (RFC 9110, 12.5.3) prefers, br before gzip; undefined for none.
 */
function preferred(header: string | string[] | undefined): Coding | undefined {
  const weights = new Map<string, number>()
  for (const item of String(header ?? '').split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name === 'x-gzip' ? 'gzip' : name, q === undefined ? 1 : Number(q.slice(2)))
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const [br, gzip] = [weightOf('br'), weightOf('gzip')]
  const best = br >= gzip ? 'br' : 'gzip'
  return Math.max(br, gzip) > 0 && Math.max(br, gzip) >= (weights.get('identity') ?? 0) ? best : undefined
}
