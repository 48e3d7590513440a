import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { InvalidPart, Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

const SLASH = 47

/**
 * The problem with the head of a request; undefined if valid. Node takes the first of two Host or
 * Content-Type headers, and any list of transfer encodings that ends with `chunked`; a proxy in
 * front may have used another one.
 *
 * The authority of an absolute target replaces Host (RFC 9112, 3.2.2).
 */
export function checkHead(request: IncomingMessage): Problem | undefined {
  const { rawHeaders, url = '', httpVersion } = request
  if (!isKnownVersion(httpVersion)) return unknownVersion()
  let host: string | undefined
  let hasType = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    const value = rawHeaders[index + 1] as string
    // Few names have these lengths, so few are compared.
    switch (name.length) {
      case 'host'.length:
        if (name.toLowerCase() !== 'host') break
        if (host !== undefined) return invalid('The request has two Host headers.')
        host = value
        break
      case 'content-type'.length:
        if (name.toLowerCase() !== 'content-type') break
        if (hasType) return invalid('The request has two Content-Type headers.')
        hasType = true
        break
      case 'transfer-encoding'.length:
        if (name.toLowerCase() !== 'transfer-encoding') break
        if (value.toLowerCase() !== 'chunked') return unknownTransferEncoding()
        // RFC 9112, 6.1: the framing is faulty.
        if (httpVersion === '1.0') return invalid('HTTP/1.0 has no Transfer-Encoding.')
    }
  }
  if (host === undefined) {
    if (httpVersion === '1.1') return invalid('The request has no Host header.')
  } else if (!isHost(host)) return invalid('The Host header is no host with an optional port.')
  if (url.charCodeAt(0) === SLASH) return undefined
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  if (authority === undefined) return undefined
  if (!isHost(authority)) return invalid('The request target names no host with an optional port.')
  request.headers.host = authority
  return undefined
}

/** 501: the framing of the body is unknown, so nothing after the head can be read. */
export const unknownTransferEncoding = (): Problem =>
  hostProblems.create(
    'unsupported-transfer-encoding',
    'The only Transfer-Encoding known here is chunked; nothing was done. Send the body as it is, with a Content-Length or chunked.',
  )

export const isKnownVersion = (version: string) => version === '1.1' || version === '1.0'

/** 505: the meaning of other versions is unknown. */
export const unknownVersion = (): Problem =>
  hostProblems.create('http-version-not-supported', 'The versions known here are HTTP/1.1 and HTTP/1.0.')

const LAST_PORT = 65_535

/**
 * RFC 3986 `host [ ":" port ]`, not empty as in RFC 9110, 4.2.1. Excludes commas, which RFC 3986
 * allows, because two joined Host headers contain one.
 */
const grammar = /^(?:\[([\da-f:.]+)\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+)(?::(\d{0,5}))?$/i

function isHost(text: string): boolean {
  const found = grammar.exec(text)
  if (found === null) return false
  const [, literal, port] = found
  return (literal === undefined || isIPv6(literal)) && (port === undefined || Number(port) <= LAST_PORT)
}

const invalid = (detail: string): Problem => hostProblems.create('invalid-request', detail)

/**
 * Rewrites a request target so that the router always accepts it and a malformed path parameter
 * reaches its route, which responds with its own 404:
 * - a segment with escapes that cannot be decoded (`%ZZ`, `%FF`) or that decode to NUL gets its
 * percent signs escaped;
 * - the absolute form (`http://host/path`) becomes its path; anything else, such as `*`, becomes a
 * path that no route has.
 */
export function requestTarget(target: string): string {
  const path = target.charCodeAt(0) === SLASH ? target : toOriginForm(target)
  return path.includes('%') ? escapeUndecodable(path) : path
}

/** `requestTarget` for Fastify. */
export const rewriteUrl = ({ url = '' }: { readonly url?: string | undefined }): string => requestTarget(url)

function toOriginForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/is.exec(target)
  if (!absolute) return `/${encodeURIComponent(target.toWellFormed())}`
  const rest = absolute[1] as string
  return rest.startsWith('/') ? rest : `/${rest}`
}

function escapeUndecodable(target: string): string {
  const end = target.search(/[?#]/)
  const path = end === -1 ? target : target.slice(0, end)
  const segments = path.split('/').map((segment) => {
    return isDecodable(segment) ? segment : segment.replaceAll('%', '%25')
  })
  return segments.join('/') + target.slice(path.length)
}

function isDecodable(segment: string): boolean {
  if (!segment.includes('%')) return true
  try {
    return !decodeURIComponent(segment).includes('\0')
  } catch {
    return false
  }
}

/**
 * Visible ASCII without quotes, comma and backslash: safe in a header, a log line and a JSON
 * string.
 */
const validId = /^[!#-&(-+\--[\]-~]{1,128}$/

/** The request's own id if valid, otherwise a new one. Sent as `Request-Id`. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const incoming = headers['request-id']
  return typeof incoming === 'string' && validId.test(incoming) ? incoming : randomUUID()
}

/** Key under which a parsed query stores its errors, because the parser cannot throw. */
export const invalidQuery = Symbol('invalid query')

export interface Query {
  [parameter: string]: unknown
  [invalidQuery]?: InvalidPart[]
}

/** Parses a query (`+` is a space). Repeated and undecodable parameters go under `invalidQuery`. */
export function parseQuery(text: string): Query {
  const query: Query = Object.create(null)
  if (text === '') return query
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const rawName = equals === -1 ? pair : pair.slice(0, equals)
    const name = decode(rawName)
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (name === undefined || value === undefined) {
      note(query, rawName, 'must be percent-encoded UTF-8 without NUL')
    } else if (name in query) {
      note(query, name, 'must be given once')
    } else {
      query[name] = value
    }
  }
  return query
}

function note(query: Query, parameter: string, detail: string): void {
  query[invalidQuery] ??= []
  query[invalidQuery].push({ parameter, detail })
}

function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}

const validTrace = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace id of a `traceparent` (W3C Trace Context); undefined if invalid. */
export function traceIdIn(header: unknown): string | undefined {
  const [, version, id, rest] = (typeof header === 'string' && validTrace.exec(header)) || []
  return version === '00' && rest !== undefined ? undefined : id
}

/** The path of a request target, without the query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Whether a method only reads. */
export const isRead = (method: string) => method === 'GET' || method === 'HEAD'
