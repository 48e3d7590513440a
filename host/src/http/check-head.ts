import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

/**
 * What is wrong with the head of a request, undefined where nothing is. Node takes the first of two Host or Content-Type
 * headers, and any list of transfer encodings that ends with `chunked`; a proxy in front may have judged by another one.
 *
 * The authority of an absolute target takes the place of Host (RFC 9112, 3.2.2).
 */
export function checkHead(request: IncomingMessage): Problem | undefined {
  const { rawHeaders, url = '', httpVersion } = request
  if (!isKnownVersion(httpVersion)) return unknownVersion()
  let host: string | undefined
  let hasType = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    const value = rawHeaders[index + 1] as string
    // Few names are of these lengths, so that few are looked at.
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
        // RFC 9112, 6.1: its framing is faulty.
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

/** 501: a body is framed in a way that is not known here, so nothing after the head can be read. */
export const unknownTransferEncoding = (): Problem =>
  hostProblems.create(
    'unsupported-transfer-encoding',
    'The only Transfer-Encoding known here is chunked; nothing was done. Send the body as it is, with a Content-Length or chunked.',
  )

export const isKnownVersion = (version: string) => version === '1.1' || version === '1.0'

/** 505: what another version means is not known here. */
export const unknownVersion = (): Problem =>
  hostProblems.create('http-version-not-supported', 'The versions known here are HTTP/1.1 and HTTP/1.0.')

const SLASH = 47
const LAST_PORT = 65_535

/**
 * RFC 3986 `host [ ":" port ]`, not empty as in RFC 9110, 4.2.1. Without commas, which RFC 3986 allows: who joins two
 * Host headers leaves one.
 */
const grammar = /^(?:\[([\da-f:.]+)\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})+)(?::(\d{0,5}))?$/i

function isHost(text: string): boolean {
  const found = grammar.exec(text)
  if (found === null) return false
  const [, literal, port] = found
  return (literal === undefined || isIPv6(literal)) && (port === undefined || Number(port) <= LAST_PORT)
}

const invalid = (detail: string): Problem => hostProblems.create('invalid-request', detail)
