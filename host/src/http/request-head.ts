import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

// The head of a request, before anything asks who calls.

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
  if (!isKnownVersion(httpVersion)) return hostProblems.create('http-version-not-supported')
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
        if (value.toLowerCase() !== 'chunked') {
          // The framing of the body is unknown, so nothing after the head can be read.
          return hostProblems.create('unsupported-transfer-encoding')
        }
        // RFC 9112, 6.1: the framing is faulty.
        if (httpVersion === '1.0') return invalid('HTTP/1.0 has no Transfer-Encoding.')
    }
  }
  if (host === undefined) {
    if (httpVersion === '1.1') return invalid('The request has no Host header.')
  } else if (!isHost(host)) return invalid('The Host header is not a host with an optional port.')
  if (url.charCodeAt(0) === SLASH) return undefined
  const authority = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1]
  if (authority === undefined) return undefined
  if (!isHost(authority)) return invalid('The request target does not name a host with an optional port.')
  request.headers.host = authority
  return undefined
}

export const isKnownVersion = (version: string) => version === '1.1' || version === '1.0'

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
 * path that no route has;
 * - below a base path, `/.well-known/name/base/rest` becomes `/base/.well-known/name/rest`: metadata
 * about a URL are there (RFC 8615, RFC 9728), and modules have no routes elsewhere.
 */
export function requestTarget({ url = '' }: Pick<IncomingMessage, 'url'>, basePath = ''): string {
  const path = url.charCodeAt(0) === SLASH ? url : toOriginForm(url)
  const own = basePath !== '' && path.startsWith(WELL_KNOWN) ? toBasePath(path, basePath) : path
  return own.includes('%') ? escapeUndecodable(own) : own
}

/** `requestTarget` below a base path. */
export const requestTargets =
  (basePath = '') =>
  (request: Pick<IncomingMessage, 'url'>): string =>
    requestTarget(request, basePath)

const WELL_KNOWN = '/.well-known/'

function toBasePath(path: string, basePath: string): string {
  const [, known = '', rest = ''] = /^(\/\.well-known\/[^/?#]+)(.*)$/s.exec(path) ?? []
  const isBelow = rest.startsWith(basePath) && /^([/?#]|$)/.test(rest.slice(basePath.length))
  return isBelow ? basePath + known + rest.slice(basePath.length) : path
}

function toOriginForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/is.exec(target)
  if (!absolute) return `/${encodeURIComponent(target.toWellFormed())}`
  const rest = absolute[1] as string
  return rest.startsWith('/') ? rest : `/${rest}`
}

function escapeUndecodable(target: string): string {
  const path = pathOf(target)
  const segments = path
    .split('/')
    .map((segment) => (isDecodable(segment) ? segment : segment.replaceAll('%', '%25')))
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

/** The path of a request target, without the query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Whether a method only reads. */
export const isRead = (method: string) => method === 'GET' || method === 'HEAD'

/** Whether a method may change something, so that a request may carry an Idempotency-Key. */
export const isWrite = (method: string) => !isRead(method) && method !== 'OPTIONS'
